import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { Engine } from "../../src/model/database.ts";
import { ends, killedAt } from "../hostile/cli.ts";
import { MOVE, uuidOf } from "./cloud.ts";
import { legacyCloud } from "./legacy-cloud.ts";
import { bootFile, PLAN, THERE, trees } from "./legacy-trees.ts";

interface Dying {
  readonly engine: Engine;
  /** Where a move is killed, which then goes on, or back. */
  readonly deaths: readonly string[];
  /** Where a rollback is killed, which then goes on. */
  readonly backDeaths: readonly string[];
}

/** Kills moves of two machines at these points; the same words then end each of them. */
export async function killed(t: TestContext, { engine, deaths, backDeaths }: Dying): Promise<void> {
  const cloud = await legacyCloud(t, { engine, machines: 2 });
  const { own, words } = trees(cloud, [1]);
  const { bm, folder, places } = cloud;
  const before = await cloud.dump();
  const runOf = (name: string) => ["--run", join(folder, "runs", name)];
  const does = (name: string, ...to: readonly string[]) =>
    ends(0, cloud.host(...to, ...runOf(name)));
  const dies = async (name: string, point: string, ...said: readonly string[]): Promise<void> => {
    const more = said[0] === "host" ? places : places.slice(2);
    await killedAt(point, [...said, ...runOf(name), ...more]);
  };
  const returned = async (point: string): Promise<void> => {
    assert.equal(await cloud.dump(), before, point);
    assert.ok(!existsSync(join(own, uuidOf("instance", 1))), point);
    await bm("bm_nodes").whereIn("id", [1, 2]).update({ service_epoch: 0 });
    // Of who died before anything was begun they expire by themselves.
    await bm("bm_locks").update({ expires_ms: 0 });
  };
  const BACK = ["rollback", "--all", "--yes"];
  for (const [at, point] of deaths.entries()) {
    const name = `on-${at}`;
    await does(name, ...PLAN, ...words);
    await dies(name, point, ...MOVE);
    await does(name, ...MOVE);
    assert.deepEqual((await cloud.rows()).machines.slice(0, 2), THERE.slice(0, 2), point);
    const config = join(own, uuidOf("instance", 1), "config");
    assert.equal(readFileSync(config, "latin1"), bootFile(1, own));
    await does(name, ...BACK);
    await returned(point);
    const alone = `alone-${at}`;
    await does(alone, ...PLAN, ...words);
    await dies(alone, point, ...MOVE);
    await does(alone, ...BACK);
    await returned(`${point}, taken back`);
  }
  for (const [at, point] of backDeaths.entries()) {
    const name = `undo-${at}`;
    await does(name, ...PLAN, ...words);
    await does(name, ...MOVE);
    await dies(name, point, ...BACK);
    await does(name, ...BACK);
    await returned(`${point}, on the way back`);
  }
}
