import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { engines, test } from "../lab/engines.ts";
import { canary, finder, search } from "./canaries.ts";
import { assertRefusal, refused, run } from "./cli.ts";
import { type Deployment, deploy, deployFiles } from "./deployment.ts";
import { digests } from "./digest.ts";
import { SMALL } from "./fleet.ts";

/** Runs extract with this as nova_bm's database; the canary must appear nowhere. */
async function triedWith(
  made: Deployment,
  spec: string,
  secret: ReturnType<typeof canary>,
  expected: readonly [number, string],
  env: { readonly [name: string]: string } = {},
): Promise<void> {
  const words = ["extract", ...made.at, "--nova-bm-db", spec, "-q"];
  const ran = await run(words, { env });
  assert.deepEqual(search(finder([secret]), ran, [join(made.folder, "runs")]), [], ran.err);
  assertRefusal(ran, ...expected);
}

function file(made: Deployment, text: string): string {
  const path = join(made.folder, "some.url");
  writeFileSync(path, text, { mode: 0o600 });
  return `file:${path}`;
}

test("a password on the command line is refused with the alternatives, and not repeated", async (t) => {
  const made = await deployFiles(t, SMALL);
  const secret = canary("argv", "x");
  const url = `mysql://nova:${secret.text}@127.0.0.1:1/nova_bm`;
  await triedWith(made, url, secret, [64, "N2I-E101"]);
  const ran = await run(["extract", ...made.at, "--nova-bm-db", url]);
  assert.match(ran.err, /file:PATH, env:NAME or conf:PATH/);
  for (const spec of [
    `postgresql://127.0.0.1:1/nova_bm?user=nova&password=${secret.text}`,
    `mysql://127.0.0.1:1/nova_bm?ssl_key_passwd=${secret.text}`,
  ])
    await triedWith(made, spec, secret, [64, "N2I-E101"]);
  const token = `https://${secret.text}@ironic:6385`;
  const asked = await run(["plan", ...made.at, "--ironic-url", token]);
  assertRefusal(asked, 64, "N2I-E101", /--ironic-url/);
  for (const spec of [`file:${url}`, `env:${url}`, `conf:${url}`])
    await triedWith(made, spec, secret, [64, "N2I-E101"]);
  for (const spec of [`env:nova:${secret.text}@h/d`, `nova:${secret.text}@h/d`])
    await triedWith(made, spec, secret, [64, "N2I-E102"]);
});

test("a password in a place where no option wants it is not repeated either", async (t) => {
  const made = await deployFiles(t, SMALL);
  const secret = canary("argv", "x");
  const url = `mysql://nova:${secret.text}@127.0.0.1:1/nova_bm`;
  for (const words of [
    ["extract", ...made.at, ...made.source, url],
    ["extract", ...made.at, ...made.source, "--password", secret.text],
    ["extract", ...made.at, ...made.source, `--password=${secret.text}`],
    ["extract", ...made.at, ...made.source, `--nova-url=${url}`],
    ["show", url, "extra"],
    ["show", url],
    [url],
    ["plan", ...made.at, ...made.reader, "--site", url],
    ["extract", ...made.at, ...made.source, "--key-file", url],
    ["extract", ...made.at, ...made.source, "--nova-conf", url],
    ["extract", "--run", url, ...made.source],
    ["status", ...made.at, "-f", url],
    ["rollback", ...made.at, ...made.reader, "--plan", "--node", url],
  ]) {
    const ran = await run(words);
    const hasUrl = words.some((word) => word.endsWith(url));
    assertRefusal(ran, 64, hasUrl ? "N2I-E101" : "N2I-E100");
    const found = search(finder([secret]), ran, [join(made.folder, "runs")]);
    assert.deepEqual(found, [], words.join(" "));
  }
});

test("an address that cannot be read is refused with its place and without its password", async (t) => {
  const made = await deployFiles(t, SMALL);
  const secret = canary("address", "x");
  for (const text of [
    `mysql://nova:${secret.text}@host:99999/nova_bm`,
    `mysql://nova:${secret.text}@ho st/nova_bm`,
    `mysql://nova:${secret.text}%ff@host/db`,
    `nova:${secret.text}@host/db`,
    `{"url": "mysql://nova:${secret.text}@host/db"}`,
    `mysql://nova:${secret.text}@host/db?ssl_ca=/none/${"x".repeat(5000)}`,
    `postgresql://nova:${secret.text}@host/db?sslmode=${secret.text}`,
  ]) {
    await triedWith(made, file(made, text), secret, [64, "N2I-E102"]);
  }
  const text = `mysql://nova:${secret.text}@host:99999/nova_bm`;
  const words = ["extract", ...made.at, "--nova-bm-db", file(made, text), "--debug"];
  assert.deepEqual(search(finder([secret]), await run(words), []), [], "nor with --debug");
  const SOME_URL = `nova:${secret.text}@host/db`;
  await triedWith(made, "env:SOME_URL", secret, [64, "N2I-E102"], { SOME_URL });
});

for (const engine of engines("mysql", "postgresql")) {
  test(`on ${engine}, a wrong password, user or database and a server that is not there are told apart`, async (t) => {
    const made = await deploy(engine, t, SMALL);
    const server = made.bm.server;
    assert.ok(server);
    const before = await digests(made);
    const secret = canary("password");
    const password = encodeURIComponent(secret.text);
    const at = `${server.host}:${server.port}`;
    const cases: readonly (readonly [string, number, string])[] = [
      [`${engine}://${made.users.bm}:${password}@${at}/${made.bm.name}`, 12, "N2I-E201"],
      [`${engine}://nobody_here:${password}@${at}/${made.bm.name}`, 12, "N2I-E201"],
      [`${engine}://${server.user}:${server.password}@${at}/no_such_db`, 4, "N2I-E202"],
      [`${engine}://nova:${password}@127.0.0.1:1/${made.bm.name}`, 1, "N2I-E200"],
      [`${engine}://nova:${password}@no-such-host.invalid/${made.bm.name}`, 1, "N2I-E200"],
      [`${engine}://nova:${password}@/nova_bm?host=/none&unix_socket=/none/socket`, 1, "N2I-E200"],
    ];
    for (const [url, status, code] of cases)
      await triedWith(made, file(made, url), secret, [status, code]);
    const spec = file(made, cases[0]?.[0] ?? "");
    const words = ["extract", ...made.at, "--nova-bm-db", spec, "--debug"];
    assert.deepEqual(search(finder([secret]), await run(words), []), [], "nor with --debug");
    assert.deepEqual(await digests(made), before);
  });

  test(`on ${engine}, TLS that is asked for and cannot be had is refused, never left out`, async (t) => {
    const made = await deploy(engine, t, SMALL);
    const { bm, folder } = made;
    const [ca, require] =
      engine === "mysql" ? ["ssl_ca", "ssl_mode=REQUIRED"] : ["sslrootcert", "sslmode=require"];
    const from = (url: string) => ["extract", ...made.at, "--nova-bm-db", file(made, url), "-q"];
    const noPem = join(folder, "no.pem");
    writeFileSync(noPem, "this is no certificate\n");
    for (const [query, status, code, saying] of [
      [`${ca}=/none/ca.pem`, 64, "N2I-E102", /TLS file \/none\/ca.pem/],
      [require, 1, "N2I-E200", /does not answer|TLS/],
      [`${ca}=${noPem}`, 1, "N2I-E200", /does not answer|TLS/],
    ] as const)
      await refused(from(`${bm.url}?${query}`), status, code, [saying]);
  });
}

test("a server that speaks another language, or nothing, is not waited for without end", async (t) => {
  const made = await deployFiles(t, SMALL);
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.end("HTTP/1.1 400 Bad Request\r\n\r\n");
  }).listen(0, "127.0.0.1");
  t.after(() => server.close());
  await new Promise((resolve) => server.once("listening", resolve));
  const address = server.address();
  const port = typeof address === "object" ? address?.port : 0;
  for (const engine of ["mysql", "postgresql"]) {
    const url = `${engine}://nova:x@127.0.0.1:${port}/nova_bm`;
    await refused(["extract", ...made.at, "--nova-bm-db", file(made, url), "-q"], 1, "N2I-E200");
  }
});
