import { copyFileSync, cpSync, rmSync } from "node:fs";
import { join } from "node:path";
import { HOST, LEGACY_DATABASE } from "./base.ts";
import type { Deployment } from "./deployment.ts";
import {
  commandsOf,
  type Does,
  load,
  reconfigure,
  reporting,
  silent,
  startIronicCompute,
  wake,
} from "./forward.ts";
import { stopAndStart } from "./operate.ts";
import type { By } from "./seen.ts";
import { until } from "./wait.ts";

const TURNS = ["staged", "handed", "served", "acted"] as const;

/** How far a run had come when it is taken back: Ironic's API hands over what it adopts. */
export function turnsOf(by: By): readonly (typeof TURNS)[number][] {
  return by === "rest" ? TURNS.slice(1) : TURNS;
}

/**
 * Over once, and back from each of four moments on the way, which are kept as they are passed:
 * staged, handed over, served by nova-compute, and after a tenant used his machine.
 */
export async function back(deployment: Deployment): Promise<void> {
  const { by, files, see, startCompute, stopCompute, tell } = deployment;
  const legacyConf = `${files.novaConf}.before`;
  copyFileSync(files.novaConf, legacyConf);
  const does = commandsOf(deployment, { watch: 1 });
  const returns = await over(deployment, does);
  for (const turn of turnsOf(by)) {
    await returns[turn]?.();
    if (turn !== "staged") await wake(deployment);
    await silent(deployment);
    await does(`${turn}-rollback`, "rollback", "--all");
    copyFileSync(legacyConf, files.novaConf);
    startCompute("legacy");
    await legacyAgain(deployment);
    await see(`${turn}-back`, { ironic: false });
    await stopAndStart(deployment, `${turn}-back`);
    await stopCompute();
    tell(`${turn}: back`);
  }
}

/** The way there; how to come back to each moment. */
async function over(
  deployment: Deployment,
  does: Does,
): Promise<{ readonly [turn: string]: () => Promise<void> }> {
  const { by } = deployment;
  const staged = by === "rest" ? await adopt(deployment, does) : await stage(deployment, does);
  await wake(deployment);
  if (by !== "rest") await does("takeover", "verify", "--takeover");
  const handed = await keep(deployment, "handed", true);
  await reconfigure(deployment, does);
  await startIronicCompute(deployment);
  const served = await keep(deployment, "served", true);
  await stopAndStart(deployment, "acted");
  const acted = await keep(deployment, "acted", true);
  await deployment.stopCompute();
  return { ...staged, handed, served, acted };
}

/** Into rows, and over to conductors. */
async function stage(deployment: Deployment, does: Does) {
  await load(deployment, does, "--staged");
  const staged = await keep(deployment, "staged", false);
  await deployment.stack.ironic.wake();
  await does("handover", "handover");
  return { staged };
}

/** By Ironic's API, which has to answer before. */
async function adopt(deployment: Deployment, does: Does) {
  await deployment.stack.ironic.wake();
  await load(deployment, does);
  return {};
}

/** Keeps the cloud and the run of the tool as they are; how to come back to them. */
export async function keep(
  { save, files }: Deployment,
  name: string,
  ironic: boolean,
): Promise<() => Promise<void>> {
  const restore = await save(name, { ironic });
  const copy = `${files.run}-${name}`;
  cpSync(files.run, copy, { recursive: true });
  return async () => {
    await restore();
    rmSync(files.run, { recursive: true });
    cpSync(copy, files.run, { recursive: true });
    // As the tool has an operator do who works on with what a backup gave back.
    rmSync(join(files.run, "run.place"), { force: true });
  };
}

/** Waits until the legacy nova-compute offers every machine again. */
export async function legacyAgain(deployment: Deployment): Promise<void> {
  const { stack, tell } = deployment;
  await reporting(deployment, HOST);
  const live = await stack.db(LEGACY_DATABASE)("bm_nodes").where({ deleted: false });
  const took = await until("the legacy nova-compute offers the machines", async () => {
    const rows = await stack
      .db("nova_cell1")("compute_nodes")
      .where({ deleted: 0, host: HOST, hypervisor_type: "baremetal" });
    if (rows.length !== live.length) return `it offers ${rows.length} of ${live.length}`;
    const off = await stack
      .db("nova_cell1")("instances")
      .where({ deleted: 0 })
      .whereNot({ power_state: 1 });
    return off.length === 0 ? null : `${off.length} servers are not running`;
  });
  tell(`the legacy nova-compute serves again after ${took.toFixed(1)} s`);
}
