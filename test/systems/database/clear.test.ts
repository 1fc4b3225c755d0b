import assert from "node:assert/strict";
import { createServer, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { MigrationError } from "../../../src/lib/error.ts";
import { portOf } from "../../support/listening.ts";
import { openedAt } from "../../support/opened.ts";

const PASSWORD = "c4n4ry-clear";

/** A PostgreSQL that has no TLS and asks whoever comes for the password itself; all it is told. */
async function asking(t: TestContext) {
  const heard: Buffer[] = [];
  const server = createServer((socket: Socket) => {
    socket.on("error", () => undefined);
    socket.on("data", (bytes) => {
      heard.push(bytes);
      // An SSLRequest is answered with no, a start-up message with AuthenticationCleartextPassword.
      if (bytes.length === 8) socket.write("N");
      else if (bytes[0] === 0) socket.write(Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 3]));
      else socket.end();
    });
  });
  return { port: await portOf(t, server), heard };
}

function opened(t: TestContext, port: number, more: string): Promise<unknown> {
  const url = `postgresql://nova:${PASSWORD}@127.0.0.1:${port}/nova${more}`;
  return openedAt(url, t, { readOnly: true }).catch((error: unknown) => error);
}

test("a server that asks for the password in clear does not get it, unless TLS was turned off by a word", async (t) => {
  const { port, heard } = await asking(t);
  const said = (): boolean => Buffer.concat(heard).includes(PASSWORD);
  for (const more of ["", "?sslmode=prefer", "?sslmode=allow"]) {
    const error = await opened(t, port, more);
    assert.ok(error instanceof MigrationError && error.code === "N2I-E223", String(error));
    assert.ok(!said(), more);
  }
  await opened(t, port, "?sslmode=disable");
  assert.ok(said());
});
