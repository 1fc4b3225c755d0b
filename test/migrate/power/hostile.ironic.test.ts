import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { ends, start } from "../../hostile/cli.ts";
import { copyFolder } from "../../support/copy-folder.ts";
import { smallDisk } from "../../support/small-disk.ts";
import { deployed, user } from "./deployed.ts";

test("Ctrl-C twice ends at once, and the next run goes on with what was answered", async (t) => {
  const bmcs = Array.from({ length: 30 }, (_, at) =>
    at < 5 ? { users: user(at + 1), dead: true } : { users: user(at + 1) },
  );
  const at = await deployed(t, bmcs, undefined, "port 623");
  const first = start(["power", ...at.at, "--rate", "10"]);
  const partial = join(at.folder, "run", "power.jsonl.partial");
  while (!existsSync(partial) || readFileSync(partial, "utf8").split("\n").length < 3)
    await sleep(20);
  first.signal("SIGINT");
  await first.said("Stopping after");
  first.signal("SIGINT");
  const stopped = await first.ended;
  // 128: the second signal itself ended it.
  assert.ok(stopped.status === 130 || stopped.status === 128, `${stopped.status} ${stopped.err}`);
  const kept = readFileSync(partial, "utf8").trim().split("\n").length - 1;
  assert.ok(kept > 0, String(kept));
  for (let id = 6; id <= 30; id++) at.farm.change(at.addresses[id - 1] ?? "", { dead: true });
  await at.power(3, "--deadline", "2");
  const readings = at.readings();
  assert.equal(readings.filter(({ verdict }) => verdict === "ok").length, kept);
  assert.equal(readings.length, 30);
  assert.ok(!existsSync(partial));
});

test("on a full disk power is refused, and goes on where it was once there is room", async (t) => {
  const disk = smallDisk(t, "size=256k");
  const bmcs = Array.from({ length: 60 }, (_, n) => ({ users: user(n + 1) }));
  const at = await deployed(t, bmcs, undefined, "port 623");
  copyFolder(join(at.folder, "run"), join(disk, "run"));
  spawnSync("dd", ["if=/dev/zero", `of=${join(disk, "filler")}`, "bs=1k"]);
  spawnSync("truncate", ["-s", "-12K", join(disk, "filler")]);
  const words = ["power", "--run", join(disk, "run")];
  const refused = await start(words).ended;
  assert.match(refused.err, /N2I-E120.*ENOSPC/s);
  assert.notEqual(refused.status, 0);
  rmSync(join(disk, "filler"));
  const sessions = (): number => at.farm.counts().received;
  const before = sessions();
  const again = await ends(0, start(words).ended);
  assert.match(again.err, /60 of 60 machines answered/);
  // Ten datagrams each, and those that were written are not asked again.
  assert.ok(sessions() - before < 60 * 10, String(sessions() - before));
});
