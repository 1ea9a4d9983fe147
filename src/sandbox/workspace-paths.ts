/**
 * The one alphabet of workspace paths (T7). A path is refused, never repaired: two spellings of one file would split
 * its history, and a repaired path is not the one that policy and audit saw.
 *
 * Pure. Also refuses what leaves a directory elsewhere (drive letters, segments that Windows trims to `..`), because
 * files are exported to disks.
 */
import { AppError } from "#shared/errors.ts";
import { utf8 } from "#shared/json.ts";
import { err, ok, type Result } from "#shared/result.ts";

export const MAX_PATH_BYTES = 512;

const CONTROL = /\p{Cc}/u;
const DRIVE = /^[A-Za-z]:/;
/** Covers `.`, `..`, and what Windows makes of `.. ` and `...`. */
const DOTS_ONLY = /^[. ]+$/;

export function parseWorkspacePath(path: string): Result<string, string> {
  if (path === "") return err("a path must not be empty");
  if (!path.isWellFormed() || CONTROL.test(path))
    return err("a path must not hold control characters or broken Unicode");
  if (path.includes("\\")) return err("a path is separated by /, not by a backslash");
  if (path.startsWith("/") || DRIVE.test(path))
    return err("a path is relative to the workspace: leave out the leading / or drive");
  const segments = path.split("/");
  if (segments.includes("")) return err("a path has no empty segment and no / at its end");
  if (segments.some((segment) => DOTS_ONLY.test(segment)))
    return err("a path has no . or .. segment");
  if (path !== path.normalize("NFC"))
    return err("a path must be in Unicode normalisation form NFC");
  if (utf8(path).length > MAX_PATH_BYTES) return err(`a path has at most ${MAX_PATH_BYTES} bytes`);
  return ok(path);
}

/** Throws AppError `file_path_invalid`. */
export function requireWorkspacePath(path: string): string {
  const parsed = parseWorkspacePath(path);
  if (!parsed.ok)
    throw new AppError("file_path_invalid", parsed.error, {
      detail: { path: path.slice(0, MAX_PATH_BYTES).toWellFormed() },
    });
  return parsed.value;
}
