import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { writeCase } from "../../../src/demo/write-case.ts";
import { runs } from "../../hostile/cli.ts";
import { privateFolder } from "../../hostile/deployment.ts";
import { faultyProxy } from "../../lab/ironic/faulty.ts";
import { authority } from "../../support/certificates.ts";
import { freeMachines } from "./free-machines.ts";
import { livingIronic } from "./living.ts";

const HERE = "IP:127.0.0.1";

test("a client's certificate adopts, and one of the server's that changes amid the run ends it with the journal intact", async (t) => {
  const folder = privateFolder(t);
  const ironic = await livingIronic(t);
  const ca = authority(t);
  const good = ca.signs(HERE, 1);
  const proxy = await faultyProxy(ironic.url, t, good, readFileSync(ca.file));
  const own = ca.signs("DNS:mover", 1);
  const file = (name: string, text: Buffer): string => {
    writeFileSync(join(folder, name), text, { mode: 0o600 });
    return `~/${name}`;
  };
  const env = {
    HOME: folder,
    OS_CACERT: ca.file,
    OS_CERT: file("mover.pem", own.cert),
    OS_KEY: file("mover.key", own.key),
    OS_ENDPOINT: proxy.url,
  };
  const at = ["--run", join(folder, "run")];
  const does = (status: number, ...words: readonly string[]) =>
    runs(status, [...words, ...at], { env });
  const written = await writeCase(freeMachines(3), folder);
  await does(0, "extract", ...written.extract);
  await does(0, "plan", "--via", "rest", ...written.plan);
  let ports = 0;
  proxy.use(({ method, path }) => {
    if (`${method} ${path}` !== "POST /v1/ports") return null;
    ports += 1;
    if (ports !== 2) return null;
    proxy.shows(ca.signs(HERE, -1));
    return { do: "refuse" };
  });
  const apply = ["apply", "--via", "rest", "--yes", "--in-flight", "1"];
  const broke = await does(5, ...apply);
  assert.match(broke.err, /^ERROR N2I-E301 Apply stopped after 1 machines: N2I-E213 .*expired/im);
  assert.match(broke.out, /^Failed: .*N2I-E213 .*; its node is "enroll" in Ironic$/m);
  proxy.use(() => null);
  const status = await does(0, "status");
  assert.doesNotMatch(status.out, /N2I-E112/);
  const again = await does(1, ...apply);
  assert.match(again.err, /^ERROR N2I-E213 .*expired/m);
  proxy.shows(good);
  await does(0, ...apply);
  const states = [...ironic.nodes.values()].map(({ provision_state }) => provision_state);
  assert.deepEqual([states, ironic.ports.size], [Array(3).fill("available"), 3]);
  await does(0, "rollback", "--via", "rest", "--all", "--yes");
  assert.deepEqual([ironic.nodes.size, ironic.ports.size], [0, 0]);
});
