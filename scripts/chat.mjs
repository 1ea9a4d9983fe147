/** `npm run chat`. The client is TypeScript, which the project's own Node runs as it is; `npm start` brings that Node. */
if (process.features.typescript === undefined || process.features.typescript === false) {
  process.stderr.write(
    `Run npm start in another terminal first, then npm run chat: this is Node ${process.version}, and the project brings its own.\n`,
  );
  process.exit(2);
}
await import("./chat/main.mjs");
