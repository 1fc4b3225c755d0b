import type { JournalEntry, TargetIdentity } from "../../model/artefact.ts";
import type { PlannedMachine } from "../../model/plan.ts";
import { nodeOf } from "../hosts/keeps.ts";
import { instanceOn } from "../hosts/placed.ts";
import { batchOf, stretches } from "./apply.ts";
import { ledgerOf } from "./ledger.ts";
import { type Scope, undoSteps } from "./undo.ts";

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
  plan: AsyncIterable<readonly PlannedMachine[]>,
  sha256: string,
  target: Pick<TargetIdentity, "engine">,
  entries: readonly JournalEntry[],
  { wants }: Scope,
): AsyncGenerator<Going> {
  const ledger = ledgerOf(entries, sha256);
  for await (const { from, to, machines } of stretches(plan, batchOf(target)))
    for (const machine of machines.filter(wants)) {
      if (machine.uuid === null || undoSteps(machine, ledger, { from, to }).length === 0) continue;
      const { uuid, service_host: host } = machine;
      yield { uuid, host, instance: instanceOn(machine), used: isUsed(machine) };
    }
}

/** Whether its node is loaded as one with a tenant; one deleted in Nova may still run. */
function isUsed({ records }: PlannedMachine): boolean {
  const node = nodeOf(records);
  return typeof node?.instance_uuid === "string" || node?.provision_state === "active";
}
