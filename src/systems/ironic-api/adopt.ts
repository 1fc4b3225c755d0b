import type { Hooks } from "../../model/change.ts";
import { compareRow } from "../../model/compare.ts";
import type { Row } from "../../model/machine.ts";
import { mayPass, pause, rest, TRIES } from "../openstack/passing.ts";
import { isAbout, type Link, lowerCaseText, readPorts, readReported } from "./body.ts";
import {
  type AdoptedMachine,
  type AdoptionOutcome,
  create,
  idsOf,
  portId,
  stopIfForbidden,
  toItsEnd,
  type Work,
} from "./create.ts";
import { type Call, foundState, isOnTransition, nextMove, noHistory, note } from "./move.ts";
import { acceptedWrites } from "./node.ts";

interface ExistingRows extends Pick<Hooks, "owned" | "ended" | "observed"> {
  /** Nodes whose protection finish removed. */
  readonly unprotected?: ReadonlySet<string>;
}

interface Adoption extends Work {
  readonly journal: ExistingRows;
}

/** Continues after an earlier attempt, and reports objects that another user created or changed. */
export function adopt(
  shared: Link,
  machine: AdoptedMachine,
  journal: ExistingRows,
): Promise<AdoptionOutcome> {
  return toItsEnd(shared, machine, "forward", (at) => takeOn({ ...at, journal }, machine));
}

async function takeOn(at: Adoption, machine: AdoptedMachine): Promise<void> {
  const { link, journal, outcome, fail } = at;
  const { node, ports } = machine;
  if (node === null) {
    outcome.state = "its node existed before";
    await makePorts(at, ports);
    return;
  }
  const from = await makeNode(at, { ...machine, node });
  if (from === null || !(await makePorts(at, ports))) return;
  const stopped = await drive(link, goalOf(node, from, journal), from, (row) => {
    outcome.state = nodeIs(row);
  });
  if (stopped !== null) fail(stopped);
}

function nodeIs({ provision_state }: Row): string {
  return `its node is ${JSON.stringify(provision_state ?? null)} in Ironic`;
}

/** Without the protection that finish removed. */
function goalOf(node: Row, found: Row, { unprotected }: ExistingRows): Row {
  const isCleared = unprotected?.has(String(node.uuid)) === true && found.protected !== true;
  const isInState = found.provision_state === node.provision_state;
  return isCleared && isInState ? { ...node, protected: false, protected_reason: null } : node;
}

async function makeNode(
  { link, journal, outcome, fail }: Adoption,
  machine: AdoptedMachine & { readonly node: Row },
): Promise<Row | null> {
  const { uuid, node } = machine;
  const { owned, observed } = journal;
  const ended = journal.ended(uuid);
  const id = `node:${uuid}`;
  const all = idsOf(machine);
  const prior = owned(id) ? await readReported(link, "node", uuid) : null;
  if (prior === null) await observed({ done: [id] });
  const made = prior === null ? await create(link, "node", node) : { row: prior.row, now: false };
  if (made.answer !== undefined) {
    if (made.none) {
      outcome.state = "Ironic has no record of it";
      await observed({ refused: all });
    }
    stopIfForbidden(link, "POST /v1/nodes", made.answer);
    fail(`POST of the node: ${made.reason}`);
    return null;
  }
  const { row } = made;
  const state = foundState(goalOf(node, row, journal), row, link.rows.same, ended);
  if (state.is === "not ours") {
    outcome.state = "";
    await observed({ refused: all });
    fail("a node with this uuid exists that this tool did not create");
    return null;
  }
  outcome.state = nodeIs(row);
  if (made.now) {
    outcome.done.push(id);
    return row;
  }
  if (!owned(id)) await observed({ found: [id] });
  if (state.is === "planned" || (state.is === "half-made" && owned(id))) {
    outcome.found.push(id);
    return row;
  }
  const fields = "fields" in state ? state.fields.join(", ") : "";
  if (!owned(id)) {
    outcome.state = "";
    outcome.found.push(id);
    await observed({ refused: all.filter((other) => !owned(other)) });
    fail(
      fields === ""
        ? "it exists already, and another run has not completed it"
        : `it exists already and differs: ${fields}`,
    );
  } else if (ended && !isOnTransition(node, row)) outcome.skipped.push({ id, reason: fields });
  else fail(`another user changed it: ${fields}`);
  return null;
}

async function makePorts(
  { link, journal: { owned, observed }, outcome, fail }: Adoption,
  ports: readonly Row[],
): Promise<boolean> {
  const [first] = ports;
  if (first === undefined) return true;
  const fresh = outcome.done.length === 0;
  const byUuid = new Map(
    (fresh ? await readPorts(link, String(first.node_uuid)) : []).map((row) => [row.uuid, row]),
  );
  for (const [at, port] of ports.entries()) {
    const id = portId(port);
    const prior = byUuid.get(port.uuid ?? null);
    if (prior === undefined) await observed({ done: [id] });
    const made =
      prior === undefined ? await create(link, "port", port) : { row: prior, now: false };
    if (made.answer !== undefined) {
      const missing = ports.slice(at).filter(({ uuid }) => !byUuid.has(uuid ?? null));
      if (made.none) await observed({ refused: missing.map(portId) });
      stopIfForbidden(link, "POST /v1/ports", made.answer);
      fail(`POST of ${id}: ${made.reason}`);
      return false;
    }
    if (!made.now && !owned(id)) await observed({ found: [id] });
    const { differs } = compareRow(port, made.row, link.rows.same);
    if (made.now) outcome.done.push(id);
    else if (differs.length === 0) outcome.found.push(id);
    else outcome.skipped.push({ id, reason: differs.map(({ field }) => field).join(", ") });
  }
  return true;
}

/** Limit for one state. A conductor gives up on a BMC long before. */
const STATE_TIMEOUT_MS = 600_000;
const FIRST_READ_MS = 60;
const LONGEST_READ_MS = 1500;
/** Reads of the node, over a second in all, before a call that may be too early. */
const READS = 6;

const DECIDING = [
  ...["uuid", "provision_state", "target_provision_state", "last_error", "reservation"],
  ...["maintenance", "maintenance_reason", "traits"],
  ...["automated_clean", "protected", "protected_reason", "owner", "resource_class"],
];

/**
 * Each step depends only on the node's current state. Stops if an accepted change has no effect.
 *
 * @param onRead called with each state that was read
 * @returns null, or the reason for the failure
 * @throws MigrationError N2I-E210, N2I-E211
 */
async function drive(link: Link, planned: Row, from: Row, onRead: (found: Row) => void) {
  const uuid = String(planned.uuid);
  const history = noHistory();
  const accepted = acceptedWrites();
  let found = from;
  let tries = 0;
  /** The last accepted change of state, with the state before. */
  let last = "";
  /** The state is derived from a 202, not read. */
  let believed = false;
  let waited = { state: found.provision_state, since: Date.now(), reads: 0 };
  const nap = async (): Promise<void> => {
    await rest(Math.min(LONGEST_READ_MS, FIRST_READ_MS * 1.5 ** waited.reads));
    waited.reads += 1;
  };
  for (;;) {
    const move = nextMove(planned, found, history);
    if (move.do === "done" && !believed) return null;
    if (move.do === "stop") return move.reason;
    if (move.do === "wait") {
      if (Date.now() - waited.since > STATE_TIMEOUT_MS)
        return `it is ${String(found.provision_state)} after ${STATE_TIMEOUT_MS / 60_000} minutes`;
      await nap();
    } else if (move.do !== "done") {
      const { name, shows } = move;
      const mark = `${name} ${String(found.provision_state)}`;
      // A locked node refuses the change for now. A call for it, or a repeated one, takes a second.
      if ((lowerCaseText(found.reservation) !== null || mark === last) && waited.reads < READS)
        await nap();
      else {
        if (accepted.has(name) && shows !== "later")
          return `${name} was accepted, but has no effect`;
        const exhausted = accepted.exhausted(name);
        if (exhausted !== null)
          return `${exhausted}, but it is still ${String(found.provision_state)}`;
        const answer = await link.service.send(move.method, move.path, move.body);
        const isTaken = answer.status >= 200 && answer.status < 300;
        if (!isTaken) stopIfForbidden(link, `${name} of node ${uuid}`, answer);
        if (!isTaken && (!mayPass(answer) || tries === TRIES))
          return `${name} is refused: ${answer.fault}`;
        if (isTaken) {
          accepted.add(name);
          waited.reads = 0;
        }
        const now = isTaken ? nodeAfter(link, move, found, answer.body) : null;
        if (!isTaken) await pause(tries);
        tries = isTaken ? 0 : tries + 1;
        if (now !== null) {
          believed = shows !== "answer";
          found = now;
          continue;
        }
        if (isTaken) {
          last = shows === "later" ? mark : last;
          note(history, name, found);
          await nap();
        }
      }
    }
    const next = await stateOf(link, uuid);
    if (next === null) return "it is gone";
    if (next.provision_state !== waited.state)
      waited = { state: next.provision_state, since: Date.now(), reads: 0 };
    found = next;
    believed = false;
    onRead(found);
  }
}

/** The node after an accepted call, if the call shows it without a read. */
function nodeAfter({ rows }: Link, { shows }: Call, found: Row, body: unknown): Row | null {
  if (shows === "later") return null;
  if (shows !== "answer") return { ...found, ...shows };
  return isAbout(body, String(found.uuid)) ? rows.reported("node", body) : null;
}

async function stateOf({ service, rows }: Link, uuid: string): Promise<Row | null> {
  const fields = DECIDING.filter((field) => rows.reports("node", field)).join(",");
  const body = await service.ask(`/v1/nodes/${uuid}?fields=${fields}`);
  return body === null ? null : rows.reported("node", body);
}
