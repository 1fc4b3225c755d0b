import { ownedLines } from "../../engine/back.ts";
import { ownershipOf } from "../../engine/ownership.ts";
import { MigrationError } from "../../lib/error.ts";
import { counted, NAMES } from "../../lib/text.ts";
import type { Footer, PlanCounts } from "../../model/artefact.ts";
import type { Target } from "../../model/ironic/target.ts";
import { type Entries, IRONIC, plansOf } from "../../model/journal.ts";
import { findPlan } from "../../run/files/plan-folder.ts";
import type { RunFolder } from "../../run/files/run-folder.ts";
import { openPlan } from "../../run/run.ts";
import type { Backend } from "../open/backend.ts";
import { ironicJournalled, type MachinePlan } from "./ironic.ts";

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
    if (sha256 === present?.sha256) {
      plans.push(present);
      continue;
    }
    // Rows of a lost plan count as foreign.
    const path = await findPlan(run, sha256).catch(() => null);
    if (path === null) continue;
    const plan = await openPlan(path);
    plans.push({ sha256, lines: () => plan.lines() });
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

export async function checkForeignNodes(
  run: RunFolder,
  backend: Pick<Backend, "oldest">,
  target: Target,
  entries: Entries,
  present?: MachinePlan,
): Promise<void> {
  const foreignNodes = await foreignNodesText(run, backend, target, entries, present);
  if (foreignNodes !== null) throw new MigrationError("N2I-E312", foreignNodes);
}

/**
 * The same check, before the first new row. If Ironic has only nodes of this run, an already loaded
 * plan is not read.
 * @returns the check. If the journal cannot show the number of loaded nodes, it has already run
 * @throws MigrationError N2I-E312
 */
export async function foreignNodesFirst(
  run: RunFolder,
  backend: Pick<Backend, "oldest">,
  target: Target,
  entries: Entries,
  { sha256, footer }: Footer<PlanCounts>,
): Promise<() => Promise<void>> {
  const check = (): Promise<void> => checkForeignNodes(run, backend, target, entries);
  const { preExisting, refused, undone, skipped } = ownershipOf(entries, IRONIC, sha256);
  const plans = plansOf(entries, IRONIC);
  const isOnly = plans.length === 1 && plans[0] === sha256;
  const otherChanges = preExisting.size + refused.size + undone.size + skipped.size();
  const isCounted = isOnly && otherChanges === 0 && (await target.counts()).nodes <= footer.nodes;
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
