import type { TestContext } from "node:test";
import { QUICK, takenForLost } from "./cloud.ts";
import { LEASE, type LegacyCloud, legacyCloud, moveOf } from "./legacy-cloud.ts";
import { images } from "./legacy-trees.ts";

export const ROW = { ...LEASE, epoch: 3, takes: true };

/** What tells that A is down, and where its machines boot from. */
export function words(cloud: LegacyCloud, ...ids: readonly number[]): readonly string[] {
  const takeover = ["host", "takeover", "--from", "A", "--to", "B", ...QUICK];
  return [...takeover, ...images(cloud, ids).words];
}

export async function dead(t: TestContext, more: Parameters<typeof legacyCloud>[1] = {}) {
  const cloud = await legacyCloud(t, { machines: 2, ...more });
  await cloud.bm("bm_nodes").update({ deploy_key: "KEY" });
  return cloud;
}

export const DOWN = ["--confirmed-down", "--yes"];

/** A request lies in A's queue, and the site document takes it for lost. */
export async function asked(cloud: LegacyCloud): Promise<readonly string[]> {
  await cloud.nova("instances").where({ id: 1 }).update({ task_state: "powering-off" });
  return takenForLost(cloud.folder, { uuid: moveOf(1).uuid });
}
