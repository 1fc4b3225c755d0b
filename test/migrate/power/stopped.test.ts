import assert from "node:assert/strict";
import { copyFileSync, existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep, setImmediate as turn } from "node:timers/promises";
import { deployed, run, startTool, user } from "./deployed.ts";

test("two power runs on one folder: the second is refused", async (t) => {
  const at = await deployed(t, [{ users: user(1), dead: true }]);
  const first = startTool(at.folder, ["power", "--run", "run"], undefined, 0);
  while (!existsSync(join(at.folder, "run", "run.lock"))) await sleep(20);
  const second = await run(at.folder, ["power", "--run", "run"]);
  assert.equal(second.code, 11, second.err);
  assert.match(second.err, /N2I-E302/);
  first.stop();
  await first;
});

test("apply refuses readings that are too old, and a rehearsal says so and goes on", async (t) => {
  const at = await deployed(t, [{ users: user(1) }]);
  assert.equal((await run(at.folder, ["power", "--run", "run"])).code, 0);
  assert.equal((await run(at.folder, ["plan", "--run", "run", ...at.written.ironic])).code, 0);
  const apply = ["apply", "--run", "run", ...at.written.ironic, "--yes"];
  const old = await run(at.folder, [...apply, "--power-max-age", "0"]);
  assert.equal(old.code, 4, old.err);
  assert.match(old.err, /N2I-E307/);
  copyFileSync(join(at.folder, "ironic.sqlite"), join(at.folder, "copy.sqlite"));
  const copy = `sqlite:///${join(at.folder, "copy.sqlite")}`;
  const words = ["rehearse", "--run", "run", "--ironic-db", copy, "--yes"];
  const rehearsed = await run(at.folder, [...words, "--power-max-age", "0"]);
  assert.equal(rehearsed.code, 4, rehearsed.err);
  assert.match(rehearsed.err, /^apply would be refused: N2I-E307 .* as old as they are\.$/m);
  assert.match(rehearsed.out, /verify again .* done/);
  const fresh = await run(at.folder, apply);
  assert.equal(fresh.code, 0, fresh.err);
});

test("after Ctrl-C nobody new is asked, and every session that was opened is closed", async (t) => {
  const bmcs = Array.from({ length: 40 }, (_, at) => ({ users: user(at + 1), delayMs: 20 }));
  const at = await deployed(t, bmcs);
  const { addresses, farm } = at;
  const asked = (): number => addresses.filter((one) => farm.counts(one).received > 0).length;
  const sum = (what: "logins" | "closes"): number =>
    addresses.reduce((total, one) => total + farm.counts(one)[what], 0);
  let before = 0;
  const going = startTool(at.folder, ["power", "--run", "run", "--in-flight", "4"], (text) => {
    if (before === 0 && /Stopping after/.test(text)) before = asked();
  });
  while (sum("logins") < 10) await turn();
  going.stop();
  const stopped = await going;
  assert.equal(stopped.code, 130, stopped.err);
  assert.ok(before > 0 && before < 36, String(before));
  // The first datagrams of four may be on their way when it says so.
  assert.ok(asked() <= before + 4, `${asked()} asked, ${before} before`);
  assert.equal(sum("closes"), sum("logins"));
});
