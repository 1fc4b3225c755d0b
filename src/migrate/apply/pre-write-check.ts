import { batches } from "../../engine/batches.ts";
import { MigrationError } from "../../lib/error.ts";
import { BATCH, regroup } from "../../lib/streams.ts";
import { counted, NAMES } from "../../lib/text.ts";
import type { PlanHeader } from "../../model/artefact.ts";
import type { SameSecret } from "../../model/compare.ts";
import { type Conductor, isOfGroup } from "../../model/ironic/service.ts";
import type { Target } from "../../model/ironic/target.ts";
import type { Row } from "../../model/machine.ts";
import type { PlannedMachine } from "../../model/plan.ts";
import { claimsOf, indexCurrent, judge } from "../plan/rules/plan-machine.ts";
import { conductorKey, groupText } from "../plan/rules/preflight.ts";
import { batchOf } from "./ironic.ts";

/**
 * Before the first write, compares every row if the target's row counts changed since the plan. A
 * started plan has changed the counts itself, so its batches are compared one by one instead.
 * @throws MigrationError N2I-E300 naming the conflicts
 */
export async function inspectCloser(
  plan: () => AsyncIterable<readonly PlannedMachine[]>,
  before: PlanHeader["target_before"],
  same: SameSecret,
  target: Target,
): Promise<void> {
  const { nodes, ports } = await target.counts();
  if (nodes === before.nodes && ports === before.ports) return;
  const obstacles: string[] = [];
  for await (const { lines } of batches(plan(), batchOf(target.identity))) {
    const desired = lines
      .filter(({ verdict }) => verdict === "create")
      .flatMap(({ records }) => records.filter(({ change }) => change === "create"));
    const index = indexCurrent(await target.current(claimsOf([{ desired }])));
    for (const record of desired)
      for (const { place, message } of judge(record, index, same).findings)
        obstacles.push(`${place}: ${message}`);
  }
  if (obstacles.length > 0)
    throw new MigrationError(
      "N2I-E300",
      `${counted(obstacles.length, "row now conflicts", "rows now conflict")} with the plan: ${obstacles.slice(0, NAMES).join("; ")}`,
    );
}

interface CheckedTarget extends Pick<Target, "service" | "current"> {
  readonly identity: Pick<Target["identity"], "engine">;
}

/**
 * Checks that every machine to adopt has a live conductor, so that the service does not refuse each
 * machine.
 * @throws MigrationError N2I-E214 naming drivers and groups
 */
export async function findConductors(
  plan: () => AsyncIterable<readonly PlannedMachine[]>,
  target: CheckedTarget,
): Promise<void> {
  if (target.identity.engine !== "rest") return;
  const { conductors } = await target.service();
  const without = new Map<string, number>();
  for await (const machines of regroup(plan(), BATCH)) {
    const nodes = machines
      .filter(({ verdict }) => verdict === "create")
      .flatMap(({ records }) => records)
      .filter(({ resource, change }) => resource === "node" && change === "create")
      .map(({ row }) => row)
      .filter((row) => !conductors.some((each) => each.alive && mayTake(each, row)));
    if (nodes.length === 0) continue;
    const uuids = nodes.map(({ uuid }) => String(uuid));
    const { nodes: found } = await target.current({ ...NOTHING, uuids });
    const arrived = new Map(found.map((row) => [row.uuid, row.provision_state]));
    for (const row of nodes) {
      if (arrived.get(row.uuid ?? null) === row.provision_state) continue;
      const { driver, group } = conductorKey(row);
      const missing = `${driver}${groupText(group)}`;
      without.set(missing, (without.get(missing) ?? 0) + 1);
    }
  }
  if (without.size === 0) return;
  const some = [...without].map(
    ([missing, machines]) => `${missing} (${counted(machines, "machine")})`,
  );
  throw new MigrationError("N2I-E214", `no conductor is alive for ${some.join(", ")}`);
}

function mayTake(conductor: Conductor, row: Row): boolean {
  const { driver, group } = conductorKey(row);
  return isOfGroup(conductor, group) && conductor.drivers.includes(driver);
}

const NOTHING = { uuids: [], instance_uuids: [], names: [], port_uuids: [], addresses: [] };
