import { createServer } from "node:net";

const HOST = "127.0.0.1";

function listen(port) {
  return new Promise((settle) => {
    const server = createServer();
    server.once("error", () => settle(null));
    server.listen(port, HOST, () => {
      const { port: bound } = server.address();
      server.close(() => settle(bound));
    });
  });
}

/** The wanted port when it is free, else any free one. */
export async function freePort(wanted = 0) {
  return (await listen(wanted)) ?? (await listen(0));
}
