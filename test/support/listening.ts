import type { Server as PlainServer } from "node:http";
import { Server as SecureServer } from "node:https";
import type { TestContext } from "node:test";

/** Has a server of the test's own answer on a free port of loopback, until the test ends: its URL. */
export async function listening(
  t: Pick<TestContext, "after">,
  server: PlainServer | SecureServer,
): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    return new Promise<void>((resolve) => server.close(() => resolve()));
  });
  const at = server.address();
  if (at === null || typeof at === "string") throw new Error("a TCP server has a port");
  return `${server instanceof SecureServer ? "https" : "http"}://127.0.0.1:${at.port}`;
}
