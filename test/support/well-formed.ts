/** Finds the first string, key or value, that is not well-formed Unicode; answers its path, or null. */
export function findLoneSurrogate(value: unknown, path: string): string | null {
  if (typeof value === "string")
    return value.isWellFormed() ? null : `lone surrogate at ${path.toWellFormed()}`;
  if (typeof value !== "object" || value === null) return null;
  for (const [key, item] of Object.entries(value)) {
    const found =
      findLoneSurrogate(key, `${path} (key)`) ?? findLoneSurrogate(item, `${path}/${key}`);
    if (found !== null) return found;
  }
  return null;
}
