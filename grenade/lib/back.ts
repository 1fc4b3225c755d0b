import { copyFileSync } from "node:fs";
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
import { until } from "./wait.ts";

/** How far a run had come when it is taken back: a run of the tool each, one after the other. */
export const TURNS = ["staged", "handed", "served"] as const;

/** Over and back three times; the deployment serves its tenants between two turns. */
export async function back(deployment: Deployment): Promise<void> {
  const { files, see, stopCompute, tell } = deployment;
  const kept = join(files.folder, "nova.conf.before");
  copyFileSync(files.novaConf, kept);
  for (const turn of TURNS) {
    const title = (name: string) => `${turn}-${name}`;
    const own = commandsOf(deployment, join(files.folder, `run-${turn}`));
    const does: Does = (name, ...words) => own(title(name), ...words);
    await see(turn, { ironic: false });
    await stopCompute();
    await load(deployment, does, "--staged");
    if (turn !== "staged") await handOver(deployment, does, turn === "handed");
    if (turn === "served") await serve(deployment, does);
    await stopCompute();
    await silent(deployment);
    await does("rollback", "rollback", "--all");
    copyFileSync(kept, files.novaConf);
    await legacyAgain(deployment);
    await see(title("back"), { ironic: false });
    await stopAndStart(deployment, title("back"));
    tell(`${turn}: back`);
  }
}

/** Conductors take every staged machine over, one by one. */
async function handOver(deployment: Deployment, does: Does, first: boolean): Promise<void> {
  if (first) await deployment.stack.ironic.wake();
  await does("handover", "handover");
  await wake(deployment);
  await does("takeover", "verify", "--takeover");
}

/** nova-compute serves the machines through Ironic, and a tenant uses his. */
async function serve(deployment: Deployment, does: Does): Promise<void> {
  await reconfigure(deployment, does);
  await startIronicCompute(deployment);
  await deployment.see("served-carried", { ironic: true });
  await stopAndStart(deployment, "served");
  await deployment.see("served-acted", { ironic: true });
}

/** The legacy nova-compute offers every machine again. */
async function legacyAgain(deployment: Deployment): Promise<void> {
  const { stack, startCompute, tell } = deployment;
  startCompute("legacy");
  await reporting(deployment, HOST);
  const live = await stack.db(LEGACY_DATABASE)("bm_nodes").where({ deleted: 0 });
  const took = await until("the legacy nova-compute offers the machines", 120, async () => {
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
