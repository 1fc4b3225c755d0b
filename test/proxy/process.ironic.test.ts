import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { refused } from "../hostile/cli.ts";
import { privateFolder } from "../hostile/deployment.ts";
import { running } from "./running.ts";

test("no password of the environment is in the memory of the process", async (t) => {
  const folder = privateFolder(t);
  const secret = "only-in-the-environment";
  const NODE_OPTIONS = `--heapsnapshot-signal=SIGUSR2 --diagnostic-dir=${folder}`;
  const at = await running(t, 3, [], { OS_PASSWORD: secret, NODE_OPTIONS });
  await (await at.get()).text();
  at.started.signal("SIGUSR2");
  let snapshot = "";
  while (!snapshot.endsWith("}")) {
    await sleep(100);
    const [file] = readdirSync(folder);
    if (file !== undefined) snapshot = readFileSync(join(folder, file), "latin1").trimEnd();
  }
  assert.ok(snapshot.includes("gAAAA-admin") || snapshot.includes("os-baremetal-nodes"));
  assert.ok(!snapshot.includes(secret));
});

test("a port below ip_unprivileged_port_start is exit status 12", async () => {
  const where = ["--keystone-url", "http://127.0.0.1:1", "--ironic-url", "http://127.0.0.1:1"];
  const low = ["serve", "proxy", ...where, "--listen", "127.0.0.1:1"];
  await refused(low, 12, "N2I-E118", [/EACCES/], { uid: 65_534 });
});
