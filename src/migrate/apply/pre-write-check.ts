import { ownedLines } from "../../engine/back.ts";
import { batches } from "../../engine/batches.ts";
import { ownershipOf } from "../../engine/ownership.ts";
import { MigrationError } from "../../lib/error.ts";
import { BATCH, regroup } from "../../lib/streams.ts";
import { counted, NAMES } from "../../lib/text.ts";
import type { Footer, PlanCounts, PlanHeader } from "../../model/artefact.ts";
import type { SameSecret } from "../../model/compare.ts";
import { isOfGroup } from "../../model/ironic/service.ts";
import type { Target } from "../../model/ironic/target.ts";
import { type Entries, IRONIC, plansOf } from "../../model/journal.ts";
import type { PlannedMachine } from "../../model/plan.ts";
import { findPlan } from "../../run/files/plan-folder.ts";
import type { RunFolder } from "../../run/files/run-folder.ts";
import { openPlan } from "../../run/run.ts";
import type { Backend } from "../open/backend.ts";
import { claimsOf, indexCurrent, judge } from "../plan/rules/plan-machine.ts";
import { conductorKey, groupText } from "../plan/rules/preflight.ts";
import { batchOf, ironicJournalled, type MachinePlan } from "./parts.ts";

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
  const text = `${counted(obstacles.length, "row now conflicts", "rows now conflict")} with the plan: ${obstacles.slice(0, NAMES).join("; ")}`;
  if (obstacles.length > 0) throw new MigrationError("N2I-E300", text);
}

/**
 * Checks that every machine to adopt has a live conductor, so that the service does not refuse each
 * machine.
 * @throws MigrationError N2I-E214 naming drivers and groups
 */
export async function findConductors(
  plan: () => AsyncIterable<readonly PlannedMachine[]>,
  target: Pick<Target, "identity" | "service" | "current">,
): Promise<void> {
  if (target.identity.engine !== "rest") return;
  const alive = (await target.service()).conductors.filter((one) => one.alive);
  const without = new Map<string, number>();
  for await (const machines of regroup(plan(), BATCH)) {
    const nodes = machines
      .filter(({ verdict }) => verdict === "create")
      .flatMap(({ records }) => records)
      .filter(({ resource, change }) => resource === "node" && change === "create")
      .map(({ row }) => ({ uuid: row.uuid, state: row.provision_state, ...conductorKey(row) }))
      .filter(
        ({ driver, group }) =>
          !alive.some((one) => isOfGroup(one, group) && one.drivers.includes(driver)),
      );
    if (nodes.length === 0) continue;
    const uuids = nodes.map(({ uuid }) => String(uuid));
    const { nodes: found } = await target.current({ ...NOTHING, uuids });
    const arrived = new Map(found.map((row) => [row.uuid, row.provision_state]));
    for (const { uuid = null, state, driver, group } of nodes) {
      if (arrived.get(uuid) === state) continue;
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

/** At most this many nodes are read for their names. */
const MAX_NODES = 1000;

/** Text about foreign nodes, in a database only. Null if none. @param present an open plan */
export async function foreignNodesText(
  run: RunFolder,
  { oldest }: Pick<Backend, "oldest">,
  target: Target,
  entries: Entries,
  present?: MachinePlan,
): Promise<string | null> {
  if (oldest === null) return null;
  const plans: MachinePlan[] = [];
  for (const sha256 of plansOf(entries, IRONIC)) {
    const isPresent = sha256 === present?.sha256;
    // Rows of a lost plan count as foreign.
    const path = isPresent ? null : await findPlan(run, sha256).catch(() => null);
    if (isPresent) plans.push(present);
    else if (path !== null) plans.push({ sha256, lines: (await openPlan(path)).lines });
  }
  const foreign = new Set(await oldest(MAX_NODES));
  const count = await countForeignNodes(target, entries, plans, (uuids) => {
    for (const uuid of uuids) foreign.delete(uuid);
  });
  if (count === 0) return null;
  const names = [...foreign].slice(0, NAMES).join(", ");
  const more = count > NAMES && names !== "" ? ", .." : "";
  return `Ironic has ${counted(count, "node")} that this run did not load${names === "" ? "" : `: ${names}${more}`}`;
}

/**
 * Checks for foreign nodes before the first new row. If Ironic has only nodes of this run, an already
 * loaded plan is not read.
 * @param lines of the plan, if the caller reads them anyway
 * @returns the check. If the journal cannot show the number of loaded nodes, it has already run
 * @throws MigrationError N2I-E312
 */
export async function foreignNodesFirst(
  run: RunFolder,
  backend: Pick<Backend, "oldest">,
  target: Target,
  entries: Entries,
  { sha256, footer, lines }: Footer<PlanCounts> & Partial<Pick<MachinePlan, "lines">>,
): Promise<() => Promise<void>> {
  const present = lines && { sha256, lines };
  const check = async (): Promise<void> => {
    const text = await foreignNodesText(run, backend, target, entries, present);
    if (text !== null) throw new MigrationError("N2I-E312", text);
  };
  const { preExisting, refused, undone, skipped } = ownershipOf(entries, IRONIC, sha256);
  const isOnly = plansOf(entries, IRONIC).join() === sha256;
  const otherChanges = preExisting.size + refused.size + undone.size + skipped.size;
  const isAlone = present === undefined && isOnly && otherChanges === 0;
  const isCounted = isAlone && (await target.counts()).nodes <= footer.nodes;
  if (!isCounted) await check();
  return isCounted ? check : () => Promise.resolve();
}

const ALL = { selects: () => true };

/**
 * The number of nodes in the target that this run did not load. @source facts/systems.md D R25,
 * D-19
 * @param onOwned receives the lower-case UUIDs of nodes that this run loaded
 */
export async function countForeignNodes(
  target: Pick<Target, "identity" | "counts" | "current">,
  entries: Entries,
  plans: readonly MachinePlan[],
  onOwned: (uuids: readonly string[]) => void,
): Promise<number> {
  const { nodes } = await target.counts();
  if (nodes === 0) return 0;
  // A node that was lost and loaded again is in several plans, but is counted once.
  const owned = new Set<string>();
  for (const plan of plans)
    for await (const batch of ownedLines(ironicJournalled(target.identity, plan), entries, ALL)) {
      const uuids = batch.flatMap(({ changes }) =>
        changes
          .filter(({ resource }) => resource === "node")
          .map(({ after }) => String(after?.uuid)),
      );
      if (uuids.length === 0) continue;
      const found = await target.current({ ...NOTHING, uuids });
      const existing = found.nodes.map(({ uuid }) => String(uuid).toLowerCase());
      for (const uuid of existing) owned.add(uuid);
      onOwned(existing);
    }
  return Math.max(0, nodes - owned.size);
}

const NOTHING = { uuids: [], instance_uuids: [], names: [], port_uuids: [], addresses: [] };
