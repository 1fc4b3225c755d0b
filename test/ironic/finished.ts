import assert from "node:assert/strict";
import type { Scene } from "./scene.ts";
import { loadedRows } from "./told.ts";

/**
 * Ends the run with finish, over the scene's own road, and looks in the rows what became of it: each
 * machine's protection is gone, but of those the plan holds, and cleaning is Ironic's to decide, but
 * of disks that wait to be looked at. Nothing after it protects a machine again but its undo, and a rollback wants a word.
 */
export async function finished(at: Scene): Promise<void> {
  const planned = loadedRows(at.plan(), "node");
  const guards = async () => {
    const columns = ["uuid", "protected", "protected_reason", "automated_clean"];
    const uuids = planned.map(({ uuid }) => String(uuid));
    const rows = await at.db("nodes").whereIn("uuid", uuids).orderBy("uuid").select(columns);
    return rows.map((row) => ({
      ...{ uuid: String(row.uuid), protected_reason: row.protected_reason as string | null },
      protected: Boolean(row.protected),
      automated_clean: row.automated_clean === null ? null : Boolean(row.automated_clean),
    }));
  };
  const loaded = await guards();
  const inMaintenance = planned.filter(({ maintenance }) => maintenance === true);
  const held = new Set(inMaintenance.flatMap((row) => (row.protected ? [String(row.uuid)] : [])));
  // Nothing else keeps these disks from being wiped before somebody looked at them.
  const kept = new Set(inMaintenance.flatMap((row) => (row.protected ? [] : [String(row.uuid)])));
  const tenants = loaded.filter(({ uuid, protected: guarded }) => guarded && !held.has(uuid));
  const count = `${tenants.length}, ${held.size} held, ${kept.size} kept`;
  assert.ok(tenants.length > planned.length / 3 && held.size > 0 && kept.size > 0, count);
  assert.ok(tenants.every(({ automated_clean }) => automated_clean === false));

  const made = await at.runs(0, "finish", "--yes");
  assert.match(made.out, /^Finish: \d+ machines cleared, .*, 0 left\.\nThis run is done\.$/m);
  const cleared = loaded.map((row) => ({
    ...row,
    ...(!held.has(row.uuid) && { protected: false, protected_reason: null }),
    ...(!kept.has(row.uuid) && { automated_clean: null }),
  }));
  assert.deepEqual(await guards(), cleared);
  await at.runs(0, "verify");
  await at.runs(4, "rollback", "--all", "--yes");
  await at.runs(3, "apply", "--yes", "--skip-blocked", "--after-finish");
  assert.deepEqual(await guards(), cleared);
  await at.runs(0, "finish", "--yes", "--undo");
  assert.deepEqual(await guards(), loaded);
  await at.runs(0, "finish", "--yes");
  assert.deepEqual(await guards(), cleared);
}
