import { once } from "node:events";
import type { Server } from "node:http";

/** Lets a server of ours listen at a free port of 127.0.0.1. */
export async function listen(
  server: Server,
): Promise<{ readonly url: string; readonly stop: () => void }> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port was given");
  const stop = (): void => {
    server.closeAllConnections();
    server.close();
  };
  return { url: `http://127.0.0.1:${address.port}`, stop };
}
