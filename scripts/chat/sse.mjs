/** Server-sent events of one response body: `{ id, event, data }` each, by the rules of the HTML standard. */
export async function* readEvents(body) {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of body) {
    rest += decoder.decode(chunk, { stream: true });
    // A line feed may be split from its carriage return, so the last line stays until it is whole.
    const blocks = rest.replaceAll("\r\n", "\n").split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const frame = parseBlock(block);
      if (frame !== null) yield frame;
    }
  }
}

function parseBlock(block) {
  const frame = { id: null, event: "message", data: "" };
  const data = [];
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    if (colon === 0 || line === "") continue;
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "data") data.push(value);
    else if (field === "id") frame.id = value;
    else if (field === "event") frame.event = value;
  }
  if (data.length === 0) return null;
  frame.data = data.join("\n");
  return frame;
}
