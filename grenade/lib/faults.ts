import { copyFileSync } from "node:fs";
import { keep, legacyAgain } from "./back.ts";
import type { Deployment } from "./deployment.ts";
import { commandsOf, type Does, plan, silent, wake } from "./forward.ts";
import { deleteServer } from "./operate.ts";
import type { How } from "./product.ts";
import { until } from "./wait.ts";

/**
 * Where a command is killed, in the order in which a run comes there: each kind of place of the
 * journal and of a transaction. What it did until then stays, and the next one goes on from there.
 */
export const DEATHS = {
  apply: [
    ...["open.before:1", "open.after:1", "target.before:1", "target.after:1"],
    ...around("nova.", "begin", "done"),
    ...around("", "begin", "done"),
  ],
  handover: ["start.before:1", "start.after:1", "clear.committed:1"],
  finish: ["write.before:1", "write.after:1"],
  "handover --undo": ["return.before:1", "restage.committed:1", "returned.after:1"],
  rollback: [...around("", "undo", "undone"), ...around("nova.", "undo", "undone")],
} as const;

function around(prefix: string, begun: string, ended: string): readonly string[] {
  return [begun, "commit", ended].flatMap((one) =>
    ["before", "after"].map((side) => `${prefix}${one}.${side}:1`),
  );
}

/** How this phase runs the tool: short watches, two machines in a transaction. */
const HOW = { watch: 1, batch: 2 };

/** One fault after the other, each from databases as they were before it. */
export async function faults(deployment: Deployment): Promise<void> {
  const { files } = deployment;
  copyFileSync(files.novaConf, `${files.novaConf}.before`);
  const does = commandsOf(deployment, HOW);
  await silentBmc(deployment);
  await plan(deployment, does);
  const planned = await keep(deployment, "planned", false);
  const deleted = await running(deployment);
  await planned();
  await silent(deployment);
  const staged = await killed(deployment);
  await staged();
  await deadConductor(deployment);
  await staged();
  await pressed(deployment);
  await staged();
  await silentLater(deployment);
  await planned();
  await restarted(deployment);
  await deleted();
  await silent(deployment);
  await does("deleted-apply", "apply", "--staged");
  await deployment.see("deleted-refused", { ironic: false });
  await staged();
  await runningBack(deployment);
}

/** A tenant's BMC is silent while the tool asks for the power of machines. */
async function silentBmc(deployment: Deployment): Promise<void> {
  const { files, stack, see } = deployment;
  const does = commandsOf(deployment, { ...HOW, run: `${files.run}-silent` });
  const title: Does = (name, ...words) => does(`silent-${name}`, ...words);
  stack.sim.silence(true);
  await plan(deployment, title);
  await silent(deployment);
  await title("apply", "apply");
  await see("silent-refused", { ironic: false });
  stack.sim.silence(false);
}

/** It is silent while conductors take machines over, and answers again later. */
async function silentLater(deployment: Deployment): Promise<void> {
  const { stack, fleet, see } = deployment;
  const does = commandsOf(deployment, HOW);
  stack.sim.silence(true);
  await stack.ironic.wake();
  await does("mute-handover", "handover", "--deadline", "60");
  const nodes = stack.db(stack.ironic.database);
  const [mute = ""] = fleet.tenants;
  const kept = (maintenance: boolean) => async (): Promise<string | null> => {
    const row = await nodes("nodes").where({ uuid: mute }).first();
    return Boolean(row?.maintenance) === maintenance ? null : `maintenance is ${row?.maintenance}`;
  };
  await until("Ironic gives the silent machine up", kept(true));
  await does("mute-verify", "verify", "--takeover");
  await see("mute", { ironic: true });
  stack.sim.silence(false);
  await until("Ironic has the machine back", kept(false));
  await wake(deployment);
  await does("mute-takeover", "verify", "--takeover");
  await see("mute-over", { ironic: true });
}

/** The legacy nova-compute runs while the tool is to write; a tenant deletes his server meanwhile. */
async function running(deployment: Deployment): Promise<() => Promise<void>> {
  const { startCompute, stopCompute, see } = deployment;
  const does = commandsOf(deployment, HOW);
  startCompute("legacy");
  await legacyAgain(deployment);
  await does("running-apply", "apply", "--staged");
  await see("running", { ironic: false });
  await deleteServer(deployment, "faults");
  await stopCompute();
  return keep(deployment, "deleted", false);
}

/** ... and while it is to take back. */
async function runningBack(deployment: Deployment): Promise<void> {
  const { startCompute, stopCompute, see } = deployment;
  const does = commandsOf(deployment, HOW);
  startCompute("legacy");
  await legacyAgain(deployment);
  await does("running-rollback", "rollback", "--all");
  await see("running-back", { ironic: false });
  await stopCompute();
}

/** Each command dies at each kind of place, and goes on. */
async function killed(deployment: Deployment): Promise<() => Promise<void>> {
  const { see, stack } = deployment;
  const does = commandsOf(deployment, HOW);
  await dying(deployment, "apply", DEATHS.apply, "--staged");
  await does("killed-verify", "verify");
  const staged = await keep(deployment, "staged", false);
  await stack.ironic.wake();
  await dying(deployment, "handover", DEATHS.handover);
  await wake(deployment);
  await does("killed-takeover", "verify", "--takeover");
  const handed = await keep(deployment, "handed", true);
  await dying(deployment, "finish", DEATHS.finish);
  await see("killed-finished", { ironic: true });
  await handed();
  await wake(deployment);
  await dying(deployment, "handover --undo", DEATHS["handover --undo"]);
  await dying(deployment, "rollback", DEATHS.rollback, "--all");
  await see("killed-back", { ironic: false });
  return staged;
}

async function dying(
  deployment: Deployment,
  words: keyof typeof DEATHS,
  points: readonly string[],
  ...more: readonly string[]
): Promise<void> {
  const [command = "", ...own] = words.split(" ");
  const options = [...own, ...more];
  const as = (how: How) => commandsOf(deployment, { ...HOW, ...how });
  for (const point of points) await as({ point })(`killed-${words}-${point}`, command, ...options);
  await as({})(`killed-${words}`, command, ...options);
}

/** The conductor dies while a machine is on its way to it. */
async function deadConductor(deployment: Deployment): Promise<void> {
  const { stack, see } = deployment;
  await stack.ironic.wake();
  const dies = commandsOf(deployment, {
    ...HOW,
    point: "clear.committed:2",
    meanwhile: stack.ironic.sleep,
  });
  await dies("conductor-dies", "handover", "--deadline", "15");
  const does = commandsOf(deployment, HOW);
  await stack.ironic.wake();
  await does("conductor-handover", "handover");
  await wake(deployment);
  await does("conductor-takeover", "verify", "--takeover");
  await see("conductor", { ironic: true });
}

/** Somebody presses buttons between plan and hand-over: a tenant's machine goes off, a free one on. */
async function pressed(deployment: Deployment): Promise<void> {
  const { stack, fleet, observer, see } = deployment;
  const [tenant = ""] = fleet.tenants;
  const [free = ""] = fleet.free;
  observer.press(tenant, false);
  observer.press(free, true);
  await see("pressed", { ironic: false });
  await stack.ironic.wake();
  const does = commandsOf(deployment, HOW);
  await does("pressed-handover", "handover");
  await wake(deployment);
  await see("pressed-over", { ironic: true });
}

/** The database server is started again in the middle of apply. */
async function restarted(deployment: Deployment): Promise<void> {
  const { stack, see } = deployment;
  const point = { point: "commit.before:2", meanwhile: stack.server.restart };
  const meets = commandsOf(deployment, { ...HOW, ...point });
  await meets("restarted-meanwhile", "apply", "--staged");
  const does = commandsOf(deployment, HOW);
  await does("restarted-apply", "apply", "--staged");
  await does("restarted-verify", "verify");
  await see("restarted", { ironic: false });
}
