import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { counted } from "../../src/lib/text.ts";
import type { Engine } from "../../src/model/database.ts";
import { STAGED } from "../../src/model/handover.ts";
import { runs } from "../hostile/cli.ts";
import { fleet, NATIVE } from "./fleet.ts";
import { type Scene, scene } from "./scene.ts";

export const ALL_FREE: readonly string[] = Array.from({ length: 6 }, () => "false null");

/** A conductor that reports itself alive and takes over no machine. */
export async function conductor({ sql }: Pick<Scene, "sql">): Promise<void> {
  const updated_at = "2099-01-01 00:00:00";
  const drivers = JSON.stringify(["pxe_ipmitool"]);
  await sql((db) =>
    db("conductors").insert({ hostname: "lab", drivers, updated_at, online: true }),
  );
}

/** Kills `handover`, or its undo at the points of an undo, then resumes and undoes it. */
export async function killedRelease(t: TestContext, engine: Engine, point: string): Promise<void> {
  const at = await scene(engine, t, fleet(2, "kilo"));
  const again = (...options: readonly string[]) => at.does("handover", ["--yes", ...options]);
  await conductor(at);
  await runs(0, ["apply", "--run", at.run, ...at.ironic, "--yes", "--staged"]);
  const staged = await at.digest();
  const undo = /^re/.test(point) ? ["--undo"] : [];
  if (undo.length > 0) await again();
  const killed = await at.start("handover", ["--yes", ...undo], `${point}:kill`).ended;
  assert.equal(killed.status, 128);
  const cleared = await at.sql((db) => db("nodes").where({ maintenance_reason: STAGED }));
  const { out } = await again();
  // A machine that is not staged is not released a second time.
  const released = `: ${counted(cleared.length, "machine")} released now, 2 handed over, 0 wa`;
  assert.match(out, new RegExp(released));
  assert.equal((await again("--undo")).status, 0);
  assert.equal(await at.digest(), staged);
}

/** Kills `finish`, then resumes and undoes it. */
export async function killedFinish(t: TestContext, engine: Engine, point: string): Promise<void> {
  const at = await scene(engine, t, fleet(6, "2023.1"));
  await runs(0, ["apply", "--run", at.run, ...at.ironic, "--yes"]);
  const loaded = await at.digest();
  assert.equal((await at.start("finish", ["--yes"], `${point}:kill`).ended).status, 128);
  const { out } = await at.does("finish", ["--yes"]);
  assert.match(out, /0 left\.\nThis run is done\.$/m);
  assert.deepEqual(await guards(at), ALL_FREE);
  assert.equal((await at.does("finish", ["--yes", "--undo"])).status, 0);
  assert.equal(await at.digest(), loaded);
}

/** `protected` and `automated_clean` of each node, in the fleet's order. */
export async function guards({ sql }: Pick<Scene, "sql">): Promise<readonly string[]> {
  const rows = await sql((db) => db("nodes").whereNot({ uuid: NATIVE }).orderBy("uuid"));
  return rows.map(({ protected: guarded, automated_clean: clean }) =>
    [Boolean(guarded), clean === null ? null : Boolean(clean)].map(String).join(" "),
  );
}
