import type { Hooks } from "../../model/change.ts";
import { compareRow } from "../../model/compare.ts";
import type { Row } from "../../model/machine.ts";
import { withoutSecrets } from "../openstack/fault.ts";
import { create } from "./create.ts";
import { drive } from "./drive.ts";
import { foundState, isOnWay } from "./found-state.ts";
import { hiding, type Link, lookAt, readPorts } from "./look.ts";
import {
  type AdoptedMachine,
  type AdoptionOutcome,
  NOTHING_THERE,
  nodeIs,
  noOutcome,
  portId,
  toItsEnd,
  withStand,
} from "./outcome.ts";

/** What the journal knows, and what it hears. */
interface KnownRows extends Pick<Hooks, "owned" | "ended" | "observed"> {
  /** Nodes whose protection finish cleared. */
  readonly unprotected?: ReadonlySet<string>;
}

type Fail = (why: string) => void;

/**
 * Enrols a machine, its ports after it, and brings it to its planned state. Whatever of that was
 * done before is met and gone on from; what somebody else made or changed is left alone and reported.
 */
export function adopt(
  shared: Link,
  machine: AdoptedMachine,
  journal: KnownRows,
): Promise<AdoptionOutcome> {
  const outcome = noOutcome();
  const link = hiding(shared, machine.node);
  const secrets = machine.node === null ? [] : link.rows.secrets(machine.node);
  const fail: Fail = (why) => {
    outcome.failed = withStand(withoutSecrets(why, secrets), outcome);
  };
  return toItsEnd(outcome, () => takeOn(link, machine, journal, outcome, fail), fail);
}

async function takeOn(
  link: Link,
  machine: AdoptedMachine,
  journal: KnownRows,
  outcome: AdoptionOutcome,
  fail: Fail,
): Promise<void> {
  const { node, ports } = machine;
  if (node === null) {
    outcome.stands = "its node was there before";
    await makePorts(link, ports, journal, outcome, fail);
    return;
  }
  const from = await makeNode(link, { ...machine, node }, journal, outcome, fail);
  if (from === null || !(await makePorts(link, ports, journal, outcome, fail))) return;
  const stopped = await drive(link, goalOf(node, from, journal), from, (row) => {
    outcome.stands = nodeIs(row);
  });
  if (stopped !== null) fail(stopped);
}

/** What finish cleared is no step that is still to be made. */
function goalOf(node: Row, found: Row, { unprotected }: KnownRows): Row {
  const isCleared = unprotected?.has(String(node.uuid)) === true && found.protected !== true;
  const isThere = found.provision_state === node.provision_state;
  return isCleared && isThere ? { ...node, protected: false, protected_reason: null } : node;
}

/** @returns the node to go on from; null when the outcome says why not */
async function makeNode(
  link: Link,
  { uuid, node, ports }: AdoptedMachine & { readonly node: Row },
  journal: KnownRows,
  outcome: AdoptionOutcome,
  fail: Fail,
): Promise<Row | null> {
  const { owned, observed } = journal;
  const ended = journal.ended(uuid);
  const id = `node:${uuid}`;
  const all = [id, ...ports.map(portId)];
  const known = owned(id) ? await lookAt(link, "node", uuid) : null;
  if (known === null) await observed({ done: [id] });
  const made = known === null ? await create(link, "node", node) : { seen: known, now: false };
  if ("why" in made) {
    if (made.none) {
      outcome.stands = NOTHING_THERE;
      await observed({ refused: all });
    }
    if (made.broke !== undefined) throw made.broke;
    fail(`POST of the node: ${made.why}`);
    return null;
  }
  const { row } = made.seen;
  const state = foundState(goalOf(node, row, journal), row, link.rows.same, ended);
  if (state.is === "not ours") {
    outcome.stands = "";
    await observed({ refused: all });
    fail("a node with this uuid is there that this tool did not make");
    return null;
  }
  outcome.stands = nodeIs(row);
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
    outcome.stands = "";
    outcome.found.push(id);
    await observed({ refused: all.filter((other) => !owned(other)) });
    fail(
      fields === ""
        ? "it is there already, and another run has not ended with it"
        : `it is there already and differs: ${fields}`,
    );
  } else if (ended && !isOnWay(node, row)) outcome.left.push({ id, why: fields });
  else fail(`somebody changed it meanwhile: ${fields}`);
  return null;
}

/**
 * Some may be there already, unless their node was made just now.
 *
 * @returns whether all are there
 */
async function makePorts(
  link: Link,
  ports: readonly Row[],
  { owned, observed }: KnownRows,
  outcome: AdoptionOutcome,
  fail: Fail,
): Promise<boolean> {
  const [first] = ports;
  if (first === undefined) return true;
  const fresh = outcome.done.length === 0;
  const there = new Map(
    (fresh ? await readPorts(link, String(first.node_uuid)) : []).map((row) => [row.uuid, { row }]),
  );
  for (const [at, port] of ports.entries()) {
    const id = portId(port);
    const known = there.get(port.uuid ?? null);
    if (known === undefined) await observed({ done: [id] });
    const made =
      known === undefined ? await create(link, "port", port) : { seen: known, now: false };
    if ("why" in made) {
      const missing = ports.slice(at).filter(({ uuid }) => !there.has(uuid ?? null));
      if (made.none) await observed({ refused: missing.map(portId) });
      if (made.broke !== undefined) throw made.broke;
      fail(`POST of ${id}: ${made.why}`);
      return false;
    }
    if (!made.now && !owned(id)) await observed({ found: [id] });
    const { differs } = compareRow(port, made.seen.row, link.rows.same);
    if (made.now) outcome.done.push(id);
    else if (differs.length === 0) outcome.found.push(id);
    else outcome.left.push({ id, why: differs.map(({ field }) => field).join(", ") });
  }
  return true;
}
