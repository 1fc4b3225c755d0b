import { type Acceptance, type Finding, type FindingCode, finding } from "../../model/findings.ts";
import type { Machine } from "../../model/machine.ts";
import type { Claim, Presence, StateOutcome, StateRow, States } from "../../model/mapping.ts";

export type StateFacts = ReturnType<typeof factsOf>;

export interface Decision {
  readonly row: StateRow;
  readonly outcome: StateOutcome;
}

/** Nova's view of the instance bm_nodes names. @source facts/nova-bm.md 2.3 */
function novaStateOf({ nova }: Machine): Presence {
  if (nova === null) return "unknown";
  if (nova.instance === null) return "missing";
  if (nova.instance.deleted) return "deleted";
  return nova.instance.task_state === null ? "live" : "busy";
}

/**
 * Decides between live nodes with the same instance: instances.node selects one. If it selects
 * none, all are unresolved, because the instance may run on any of them.
 * @source facts/nova-bm.md 2.4
 */
function claimOf({ node, nova, duplicates }: Machine): Claim {
  if (duplicates.instance_uuid.length === 0) return "sole";
  const novaNode = nova?.instance?.node;
  if (typeof novaNode !== "string" || nova?.instance?.deleted !== false) return "unresolved";
  if (novaNode.toLowerCase() === node.uuid?.toLowerCase()) return "won";
  return duplicates.holders.includes(novaNode.toLowerCase()) ? "lost" : "unresolved";
}

export function factsOf(machine: Machine) {
  const { node, nova } = machine;
  return {
    instance: node.instance_uuid !== null && node.instance_uuid !== "",
    task_state: node.task_state,
    nova: novaStateOf(machine),
    claim: claimOf(machine),
    launched: nova?.instance ? nova.instance.launched_at !== null : null,
    // Nova has an instance here that bm_nodes does not name and that is not a failed build.
    placed: nova?.placed === true,
  };
}

/** The first row whose conditions match, and the accepted outcome. */
export function decide(
  facts: StateFacts,
  states: States,
  acceptances: readonly Acceptance[],
): Decision {
  const row = states.rows.find(({ when }) => holds(when, facts));
  // The parser requires that the last row has no conditions.
  if (row === undefined) throw new Error("the state table has no row for every machine");
  const isAccepted = acceptances.some(({ finding }) => finding === row.finding);
  if (row.outcome !== "block" || !isAccepted) return { row, outcome: row.outcome };
  return { row, outcome: row.accepted ?? row.outcome };
}

/** Texts, and findings that apply in any state. A busy instance is normal during an operation. */
const LOST: { readonly [state in Presence]?: readonly [text: string, code?: FindingCode] } = {
  missing: ["Nova has no such instance", "N2I-D201"],
  deleted: ["Nova has deleted the instance", "N2I-D202"],
  busy: ["Nova is working on it"],
};

/**
 * Findings of the state table's row. If the row does not check Nova, a lost instance has its own
 * finding, so that each is accepted separately.
 * @source facts/nova-bm.md 1.11, 2.3, 5.3
 */
export function stateFindings(
  { row }: Decision,
  facts: StateFacts,
  where: string,
): readonly Finding[] {
  const novaChecked = row.when.nova !== undefined || !facts.instance;
  const [text, code] = (novaChecked ? undefined : LOST[facts.nova]) ?? [];
  if (row.finding === undefined && code === undefined) return [];
  const state = `task_state ${JSON.stringify(facts.task_state)}: ${row.means}`;
  const what = text === undefined ? state : `${state}; ${text}`;
  return [
    ...(row.finding === undefined ? [] : [finding(row.finding, `${where} task_state`, what)]),
    ...(code === undefined ? [] : [finding(code, `${where} instance_uuid`, text ?? "")]),
  ];
}

function holds(when: StateRow["when"], facts: StateFacts): boolean {
  return (
    (when.instance === undefined || when.instance === facts.instance) &&
    (when.task_state === undefined || when.task_state.includes(facts.task_state)) &&
    (when.nova === undefined || when.nova.includes(facts.nova)) &&
    (when.claim === undefined || when.claim.includes(facts.claim)) &&
    (when.launched === undefined || when.launched === facts.launched) &&
    (when.placed === undefined || when.placed === facts.placed)
  );
}
