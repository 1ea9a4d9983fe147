/** The prelude's primitives for QuickJS: host functions over the session's files. A throw becomes an error in the code. */
import type { QuickJSContext, QuickJSHandle } from "quickjs-emscripten-core";
import { utf8 } from "#shared/json.ts";
import type { SandboxRequest } from "#ports/sandbox.ts";
import { decodeText, requireContent, requireFits } from "#sandbox/code-files.ts";

export function createPrimitives(
  context: QuickJSContext,
  request: SandboxRequest,
  print: (text: string) => void,
): QuickJSHandle {
  const { files, limits } = request;
  const primitives = context.newObject();
  const add = (name: string, run: (...args: QuickJSHandle[]) => QuickJSHandle): void => {
    context.newFunction(name, run).consume((handle) => context.setProp(primitives, name, handle));
  };
  const text = (handle: QuickJSHandle | undefined): string =>
    handle === undefined ? "" : context.getString(handle);
  const content = (path: string): Uint8Array => {
    requireFits(path, files.stat(path)?.bytes ?? 0, limits.memoryBytes);
    return requireContent(files, path);
  };

  add("readText", (path, encoding) =>
    context.newString(decodeText(text(path), content(text(path)), text(encoding))),
  );
  add("readBytes", (path) => {
    const bytes = content(text(path));
    return context
      .newArrayBuffer(bytes.slice().buffer)
      .consume((buffer) => construct(context, "Uint8Array", buffer));
  });
  add("write", (path, value) => {
    files.write(text(path), value === undefined ? new Uint8Array() : toBytes(context, value));
    return context.undefined;
  });
  add("remove", (path) => (files.delete(text(path)) ? context.true : context.false));
  add("list", (prefix) => {
    const paths = files.list(text(prefix)).map((stat) => stat.path);
    return context.unwrapResult(context.evalCode(`(${JSON.stringify(paths)})`, "list.js"));
  });
  add("print", (line) => {
    print(text(line));
    return context.undefined;
  });
  return primitives;
}

function toBytes(context: QuickJSContext, value: QuickJSHandle): Uint8Array {
  if (context.typeof(value) === "string") return utf8(context.getString(value));
  const number = (key: string): number =>
    context.getProp(value, key).consume((handle) => context.getNumber(handle));
  const offset = number("byteOffset");
  const length = number("byteLength");
  return context
    .getProp(value, "buffer")
    .consume((buffer) =>
      context.getArrayBuffer(buffer).consume((bytes) => bytes.value.slice(offset, offset + length)),
    );
}

function construct(context: QuickJSContext, name: string, argument: QuickJSHandle): QuickJSHandle {
  return context
    .unwrapResult(context.evalCode(`((value) => new ${name}(value))`, "construct.js"))
    .consume((make) =>
      context.unwrapResult(context.callFunction(make, context.undefined, argument)),
    );
}
