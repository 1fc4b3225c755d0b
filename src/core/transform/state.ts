import type { Machine } from "../../model/machine.ts";
import type {
  Acceptance,
  Claim,
  NovaSays,
  Outcome,
  StateRow,
  States,
} from "../../model/mapping.ts";

/** What the state table looks at. */
export interface Facts {
  readonly instance: boolean;
  readonly task_state: string | null;
  readonly nova: NovaSays;
  readonly claim: Claim;
  readonly launched: boolean | null;
}

export interface Decision {
  readonly row: StateRow;
  readonly outcome: Outcome;
  /** The operator's reason, when an acceptance turned a block into an outcome. */
  readonly accepted: string | null;
}

/** Nova's view of the instance bm_nodes names. @source facts/nova-bm.md 2.3 */
function novaSays({ nova }: Machine): NovaSays {
  if (nova === null) return "unknown";
  if (nova.instance === null) return "missing";
  if (nova.instance.deleted) return "deleted";
  return nova.instance.task_state === null ? "live" : "busy";
}

/**
 * Whose the instance is when several live nodes hold it: the one of them that instances.node names
 * wins. When it names none of them nobody has lost, since the tenant may run on either.
 *
 * @source facts/nova-bm.md 2.4
 */
function claimOf({ node, nova, rivals }: Machine): Claim {
  if (rivals.instance_uuid.length === 0) return "sole";
  const named = nova?.instance?.node;
  if (typeof named !== "string" || nova?.instance?.deleted !== false) return "unresolved";
  if (named.toLowerCase() === node.uuid?.toLowerCase()) return "won";
  return rivals.holders.includes(named.toLowerCase()) ? "lost" : "unresolved";
}

export function factsOf(machine: Machine): Facts {
  const { node, nova } = machine;
  return {
    instance: node.instance_uuid !== null && node.instance_uuid !== "",
    task_state: node.task_state,
    nova: novaSays(machine),
    claim: claimOf(machine),
    launched: nova?.instance ? nova.instance.launched_at !== null : null,
  };
}

/** The first row of the table whose conditions all hold, and what the operator accepted of it. */
export function decide(facts: Facts, states: States, acceptances: readonly Acceptance[]): Decision {
  const row = states.rows.find(({ when }) => holds(when, facts));
  // The table's last row has no conditions; its parser insists on that.
  if (row === undefined) throw new Error("the state table has no row for every machine");
  const acceptance = acceptances.find(({ finding }) => finding === row.finding);
  if (row.outcome !== "block" || row.accepted === undefined || acceptance === undefined)
    return { row, outcome: row.outcome, accepted: null };
  return { row, outcome: row.accepted, accepted: acceptance.reason };
}

function holds(when: StateRow["when"], facts: Facts): boolean {
  return (
    (when.instance === undefined || when.instance === facts.instance) &&
    (when.task_state === undefined || when.task_state.includes(facts.task_state)) &&
    (when.nova === undefined || when.nova.includes(facts.nova)) &&
    (when.claim === undefined || when.claim.includes(facts.claim)) &&
    (when.launched === undefined || when.launched === facts.launched)
  );
}
