import type { Server as PlainServer } from "node:http";
import { Server as SecureServer } from "node:https";
import type { Server } from "node:net";
import type { TestContext } from "node:test";

type Test = Pick<TestContext, "after">;

/** Has a server of the test's own answer on a free port of loopback, until the test ends: the port. */
export async function portOf(t: Test, server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => void server.close());
  const at = server.address();
  if (at === null || typeof at === "string") throw new Error("a TCP server has a port");
  return at.port;
}

export async function listening(t: Test, server: PlainServer | SecureServer): Promise<string> {
  t.after(() => server.closeAllConnections());
  const port = await portOf(t, server);
  return `${server instanceof SecureServer ? "https" : "http"}://127.0.0.1:${port}`;
}
