/** What a newcomer reads first: where it runs, what answers, and the next command to type. */
const SCRIPTED = `  Model   embedded/scripted. This is NOT an LLM: fixed rules that drive the real tools over CSV and text files.
          A real one: HOLDFAST_MODEL=openai-compatible/llama3.2 HOLDFAST_MODEL_BASE_URL=http://127.0.0.1:11434/v1 npm start
          (any OpenAI-compatible server; HOLDFAST_MODEL_API_KEY where it wants a key)`;

const DEFAULT_PORT = 8787;

export function banner({ url, link, model, wantedPort, port, state }) {
  const moved = wantedPort === port ? "" : ` (port ${wantedPort} was taken)`;
  const option = state === ".holdfast" ? "" : ` --state ${state}`;
  const own = option === "" ? "" : ` --${option}`;
  const again =
    wantedPort === DEFAULT_PORT ? own : `${own === "" ? " --" : own} --port ${wantedPort}`;
  return `
Holdfast runs at ${url}${moved}

  Open    ${link ?? url}
          (signs you in for an hour; npm run link${own} prints a new one)

${model === null ? SCRIPTED : `  Model   ${model}`}
  API     ${url}/v1/reference
  State   ${state}/ (kept between starts; delete it to begin anew)

Or in another terminal:

  npm run chat --${option} --file path/to/your.csv "How many rows does it have?"

While it works, try: npm run crash${own}   (SIGKILL to every process of this server), then npm start${again} again.
Ctrl-C stops the server.
`;
}
