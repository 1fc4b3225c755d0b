import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import type { Tls } from "../../../src/edge/openstack/cloud.ts";
import { openHttp } from "../../../src/edge/openstack/http.ts";
import { MigrationError } from "../../../src/model/error.ts";
import { freePort } from "../../lab/daemon.ts";
import { type Authority, authority, type Pair } from "../../support/certificates.ts";

const HERE = "IP:127.0.0.1";
const OUR_NAME = "DNS:mover";

function put(ca: Authority, name: string, text: Buffer): string {
  const path = join(dirname(ca.file), name);
  writeFileSync(path, text, { mode: 0o600 });
  return path;
}

/** OpenSSL's own server, which ends a handshake without a certificate of this authority with an alert. */
async function demanding(t: TestContext, ca: Authority, more: readonly string[]): Promise<string> {
  const port = await freePort();
  const { cert, key } = ca.signs(HERE, 1);
  const own = ["-cert", put(ca, "server.pem", cert), "-key", put(ca, "server.key", key)];
  const demands = ["-CAfile", ca.file, "-Verify", "1", "-verify_return_error"];
  const words = ["s_server", "-accept", `127.0.0.1:${port}`, "-www", ...own, ...demands, ...more];
  const server = spawn("openssl", words, { stdio: ["ignore", "pipe", "ignore"] });
  t.after(() => server.kill());
  await once(server.stdout, "data");
  return `https://127.0.0.1:${port}/`;
}

async function status(url: string, tls: Tls): Promise<number> {
  const http = openHttp(tls, 5000);
  try {
    return (await http.send({ method: "GET", url, headers: {} })).status;
  } finally {
    http.close();
  }
}

const WANTS = /wants a certificate of this client/;

for (const [version, without] of [
  ["-tls1_3", WANTS],
  ["-tls1_2", /breaks the handshake off/],
] as const)
  test(`a server that demands a certificate gets ours, and is told without one or with a stranger's, ${version}`, async (t) => {
    const ca = authority(t);
    const url = await demanding(t, ca, [version]);
    const none: Tls = { cacert: ca.file, cert: null, key: null, insecure: false };
    const files = ({ cert, key }: Pair) => ({
      cert: put(ca, "client.pem", cert),
      key: put(ca, "client.key", key),
    });
    const ours = files(ca.signs(OUR_NAME, 1));
    assert.equal(await status(url, { ...none, ...ours }), 200);
    const both = [ours.cert, ours.key].map((path) => readFileSync(path));
    const one = put(ca, "both.pem", Buffer.concat(both));
    assert.equal(await status(url, { ...none, cert: one }), 200);
    const told =
      (words: RegExp) =>
      (error: unknown): boolean =>
        error instanceof MigrationError &&
        error.code === "N2I-E213" &&
        words.test(error.message) &&
        error.fix.includes("OS_CERT");
    await assert.rejects(status(url, none), told(without));
    const stranger = files(authority(t).signs(OUR_NAME, 1));
    await assert.rejects(status(url, { ...none, ...stranger }), told(WANTS));
    assert.throws(
      () => openHttp({ ...none, cert: ours.cert, key: one.replace("both", "request") }, 5000),
      (error) => error instanceof MigrationError && error.code === "N2I-E106",
    );
  });
