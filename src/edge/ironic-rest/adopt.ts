import { compareRow } from "../../model/compare.ts";
import type { Row } from "../../model/machine.ts";
import { createNode, createPort } from "./create.ts";
import { drive } from "./drive.ts";
import { withoutSecrets } from "./fault.ts";
import { lookAtNode, lookAtPorts, type Road } from "./look.ts";
import { standingOf } from "./standing.ts";

/** One machine's rows to make; its node is null where only ports are missing. */
export interface Machine {
  readonly uuid: string;
  readonly node: Row | null;
  readonly ports: readonly Row[];
}

/** What became of one machine; ids as steps have them. */
export interface Outcome {
  readonly done: string[];
  readonly found: string[];
  readonly left: { readonly id: string; readonly why: string }[];
  failed: string | null;
}

/** What the journal knows, and is told. */
export interface Known {
  /** Whether this run made the row of a step before. */
  readonly ours: (id: string) => boolean;
  /** Whether the machine's batch came to its end. */
  readonly ended: boolean;
  /** A row was there that this run did not make: written down before anything is done with it. */
  readonly met: (id: string) => Promise<void>;
}

export function noOutcome(): Outcome {
  return { done: [], found: [], left: [], failed: null };
}

/**
 * Enrols a machine, its ports after it, and brings it to its planned state. Whatever of that was
 * done before is met and gone on from; what somebody else made or changed is left alone and told.
 *
 * @throws MigrationError N2I-E210, N2I-E211: then nobody knows how far the machine came
 */
export async function adopt(
  road: Road,
  { uuid, node, ports }: Machine,
  journal: Known,
): Promise<Outcome> {
  const ours = journal.ours(`node:${uuid}`);
  const outcome = noOutcome();
  const fail = (why: string): Outcome => {
    outcome.failed = withoutSecrets(why, node === null ? [] : road.rows.secrets(node));
    return outcome;
  };
  let before = ours ? await lookAtNode(road, uuid) : null;
  if (node !== null && before === null) {
    const made = await createNode(road, node);
    if ("why" in made) return fail(`POST of the node: ${made.why}`);
    if (made.now) outcome.done.push(`node:${uuid}`);
    else {
      outcome.found.push(`node:${uuid}`);
      await journal.met(`node:${uuid}`);
    }
    before = made.seen;
  } else if (node !== null) outcome.found.push(`node:${uuid}`);
  if (node !== null && before !== null) {
    const made = outcome.done.length > 0;
    const standing = standingOf(node, before.row, road.rows.same, journal.ended);
    if (standing.is === "foreign")
      return fail("a node with this uuid is there that this tool did not make");
    if (standing.is === "changed" && !made) {
      const why = standing.fields.join(", ");
      if (!ours) return fail(`it is there already and differs: ${why}`);
      outcome.found.length = 0;
      outcome.left.push({ id: `node:${uuid}`, why });
      return outcome;
    }
    if (!ours && !made && standing.is === "half-made")
      return fail("it is there already, and another run has not ended with it");
  }
  const why = await makePorts(road, ports, outcome, journal);
  if (why !== null) return fail(why);
  if (node === null || before === null) return outcome;
  const stopped = await drive(road, node, before.row);
  return stopped === null ? outcome : fail(stopped);
}

/** Some may be there already, unless their node was made just now. */
async function makePorts(
  road: Road,
  ports: readonly Row[],
  outcome: Outcome,
  journal: Known,
): Promise<string | null> {
  const [first] = ports;
  if (first === undefined) return null;
  const look = outcome.done.length === 0;
  const there = new Map(
    (look ? await lookAtPorts(road, String(first.node_uuid)) : []).map((row) => [row.uuid, row]),
  );
  for (const port of ports) {
    const id = `port:${String(port.uuid)}`;
    const known = there.get(port.uuid ?? null);
    const made =
      known === undefined ? await createPort(road, port) : { seen: known, now: false as const };
    if ("why" in made) return `POST of ${id}: ${made.why}`;
    if (!made.now && !journal.ours(id)) await journal.met(id);
    const { differs } = compareRow(port, made.seen, road.rows.same);
    if (made.now) outcome.done.push(id);
    else if (differs.length === 0) outcome.found.push(id);
    else outcome.left.push({ id, why: differs.map(({ field }) => field).join(", ") });
  }
  return null;
}
