import { instanceOn } from "../core/hosts/placed.ts";
import { ownedLines, type Scope } from "../engine/back.ts";
import type { TargetIdentity } from "../model/artefact.ts";
import type { Entry } from "../model/journal.ts";
import { nodeOf, type PlannedMachine } from "../model/plan.ts";
import { ironicJournalled, type MachinePlan } from "../parts/ironic.ts";

/** A machine whose node a rollback is to remove. */
export interface Going {
  readonly uuid: string;
  /** As nova_bm had it. */
  readonly host: string | null;
  /** The instance its node names. */
  readonly instance: string | null;
  /** Whether an instance uses it: Nova loses what it has of the node when that is gone. */
  readonly used: boolean;
}

/** The machines that a rollback of one plan is to take away, by the journal. */
export async function* goingOf(
  plan: MachinePlan,
  target: Pick<TargetIdentity, "engine">,
  entries: readonly Entry[],
  scope: Pick<Scope<PlannedMachine>, "wants">,
): AsyncGenerator<Going> {
  for await (const batch of ownedLines(ironicJournalled(target, plan), entries, scope))
    for (const { line } of batch) {
      const { uuid, service_host: host } = line;
      if (uuid !== null) yield { uuid, host, instance: instanceOn(line), used: isUsed(line) };
    }
}

/** Whether its node is loaded as one with a tenant; one deleted in Nova may still run. */
function isUsed({ records }: PlannedMachine): boolean {
  const node = nodeOf(records);
  return typeof node?.instance_uuid === "string" || node?.provision_state === "active";
}
