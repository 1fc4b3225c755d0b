import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { onSocket } from "../../../src/edge/ipmitool/own-socket.ts";
import { sweep } from "../../../src/edge/ipmitool/password-file.ts";
import { ipmitoolProbe } from "../../../src/edge/ipmitool/probe.ts";
import { udpBmc } from "../ipmi/udp-bmc.ts";

function folder(t: TestContext): string {
  const made = mkdtempSync(join(tmpdir(), "n2i-leftovers-"));
  t.after(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

test("what a killed process left is removed, what a living one has is not", async (t) => {
  const parent = folder(t);
  const dead = spawnSync("true").pid;
  const names = [`p-${dead}-x`, `p-${process.pid}-x`, `q-${dead}-x`, "p-name", `p-${dead}`];
  for (const name of names) {
    mkdirSync(join(parent, name));
    writeFileSync(join(parent, name, "password"), "thr0w-away");
  }
  writeFileSync(join(parent, `p-${dead}-file`), "no folder");
  await sweep(parent, "p-");
  const left = [...names.slice(1), `p-${dead}-file`];
  assert.deepEqual(readdirSync(parent).toSorted(), left.toSorted());
  await sweep(join(parent, "nowhere"), "p-");
});

test("a child that opens no socket is not told to have one", async (t) => {
  const watched = (script: string) => {
    const child = spawn("bash", ["-c", script], { stdio: ["ignore", "pipe", "pipe"] });
    t.after(() => child.kill("SIGKILL"));
    return new Promise<string>((resolve) => {
      t.after(onSocket(child.pid ?? 0, () => resolve(script)));
    });
  };
  const without = watched("exec sleep 60");
  const opens = "exec 3<>/dev/udp/127.0.0.1/9; exec sleep 60";
  assert.equal(await Promise.race([without, watched(opens)]), opens);
});

test("the real ipmitool waits for a silent BMC without its password on disk", async (t) => {
  const { question } = await udpBmc(t, { dead: true });
  const stop = new AbortController();
  const asking = ipmitoolProbe()(question, { deadline: 20_000, signal: stop.signal });
  const ours = (): readonly string[] =>
    readdirSync(tmpdir()).filter((name) => name.startsWith(`n2i-ipmi-${process.pid}-`));
  while (ours().length === 0) await sleep(2);
  while (ours().length > 0) await sleep(10);
  stop.abort();
  await assert.rejects(asking, { name: "AbortError" });
});
