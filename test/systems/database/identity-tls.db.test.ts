import assert from "node:assert/strict";
import dns from "node:dns";
import { createServer, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { TLSSocket } from "node:tls";
import { MigrationError } from "../../../src/lib/error.ts";
import { authority, type Pair } from "../../support/certificates.ts";
import { portOf } from "../../support/listening.ts";
import { openedAt } from "../../support/opened.ts";

/** A MySQL 5.7 with TLS: protocol 10, its version, a thread, a nonce in two parts, what it can do. */
const GREETING = Buffer.concat([
  Buffer.from([10]),
  Buffer.from("5.7.40\0"),
  Buffer.from([1, 0, 0, 0]),
  Buffer.from("12345678\0"),
  Buffer.from([0xff, 0xff, 33, 2, 0, 0xff, 0x81, 21]),
  Buffer.alloc(10),
  Buffer.from("123456789012\0mysql_native_password\0"),
]);

/** Says hello in clear, as far as TLS, and no word after it; what it is told there by the client. */
async function speaking(t: TestContext, engine: string, pair: Pair) {
  let heard = 0;
  const server = createServer((socket: Socket) => {
    socket.on("error", () => undefined);
    if (engine === "mysql")
      socket.write(Buffer.concat([Buffer.from([GREETING.length, 0, 0, 0]), GREETING]));
    // What follows the wish for TLS may come with it, and is TLS.
    socket.once("readable", () => {
      socket.read(engine === "mysql" ? 36 : 8);
      if (engine === "postgresql") socket.write("S");
      const secure = new TLSSocket(socket, { isServer: true, ...pair });
      secure.on("error", () => undefined);
      secure.on("data", ({ length }) => {
        heard += length;
        secure.destroy();
      });
    });
  });
  return { port: await portOf(t, server), heard: () => heard };
}

type Looked = (
  error: null,
  address: string | readonly dns.LookupAddress[],
  family?: number,
) => void;

const FULL = {
  mysql: ["ssl_mode=VERIFY_IDENTITY&ssl_ca=", "ssl_mode=VERIFY_CA&ssl_ca="],
  postgresql: ["sslmode=verify-full&sslrootcert=", "sslmode=verify-ca&sslrootcert="],
};

for (const engine of ["mysql", "postgresql"] as const)
  test(`on ${engine}, a server of another name is told nothing where its name is to be verified`, async (t) => {
    // No machine has to know a name for this.
    t.mock.method(dns, "lookup", (_name: string, ...rest: readonly unknown[]) => {
      const { all = false } = Object(rest[0]);
      const done = rest.at(-1) as Looked;
      if (all) done(null, [{ address: "127.0.0.1", family: 4 }]);
      else done(null, "127.0.0.1", 4);
    });
    const ca = authority(t);
    const [full, some] = FULL[engine];
    for (const [names, host, query, told] of [
      ["DNS:nova-db.example", "nova-db.example", full, true],
      ["IP:127.0.0.1", "127.0.0.1", full, true],
      ["DNS:other.example", "nova-db.example", full, false],
      ["DNS:nova-db.example", "127.0.0.1", full, false],
      ["IP:127.0.0.2", "127.0.0.1", full, false],
      ["DNS:other.example", "127.0.0.1", some, true],
    ] as const) {
      const { port, heard } = await speaking(t, engine, ca.signs(names, 1));
      const url = `${engine}://nova:secret@${host}:${port}/nova?${query}${ca.file}`;
      const error = await openedAt(url, t).catch((cause: unknown) => cause);
      assert.ok(error instanceof MigrationError && error.code === "N2I-E200", String(error));
      assert.equal(heard() > 0, told, `${names} at ${host}: ${error.message}`);
    }
  });
