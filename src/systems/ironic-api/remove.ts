import { compareRow } from "../../model/compare.ts";
import type { NodeChange } from "../../model/ironic/rest.ts";
import type { RemovalForecast } from "../../model/ironic/target.ts";
import type { Row } from "../../model/machine.ts";
import { mayPass, pause, TRIES } from "../openstack/passing.ts";
import type { Answer } from "../openstack/session.ts";
import { hiding, type IronicRow, type Link, readPorts, readReported } from "./body.ts";
import {
  type AdoptedMachine,
  type AdoptionOutcome,
  idsOf,
  portId,
  stopIfForbidden,
  toItsEnd,
  type Work,
} from "./create.ts";
import { asMade, foundState, isBeingUndone, isPassing, isUntouched, UNDOING } from "./move.ts";
import { acceptedWrites, type NodeCall, nodeCalls } from "./node.ts";

type RetryPolicy = (tries: number) => boolean;

/**
 * Retries until the tries are used up and `lockWait` milliseconds have passed since the first lock
 * of any machine, so that a dead conductor's locks cost the time once, not per machine.
 */
export function retryPolicyOf(lockWait: number, now = Date.now): RetryPolicy {
  let until: number | undefined;
  return (tries) => {
    until ??= now() + lockWait;
    return tries < TRIES || now() < until;
  };
}

const UNPROTECTED =
  "it may be in maintenance and unprotected: run rollback again to delete it, or apply to restore it";

/**
 * Maintenance, then DELETE, never `deleted` or `provide`, which power off and wipe. A machine with
 * other changes than Ironic's own is skipped.
 *
 * @param foreign attachments by node uuid that this tool did not write
 * @source facts/ironic.md 4.6
 */
export function remove(
  shared: Link,
  machine: AdoptedMachine,
  foreign: ReadonlyMap<string, string>,
  retryPolicy: RetryPolicy = retryPolicyOf(0),
): Promise<AdoptionOutcome> {
  const blocker = foreign.get(machine.uuid) ?? null;
  return toItsEnd(shared, machine, "back", (at) => takeBack(at, machine, blocker, retryPolicy));
}

/** Predicts `remove` for an unchanged machine. */
export async function judgeRemoval(
  shared: Link,
  machine: AdoptedMachine,
  foreign: ReadonlyMap<string, string>,
): Promise<RemovalForecast> {
  const { uuid, node, ports } = machine;
  const { link, hide } = hiding(shared, node);
  const ids = idsOf(machine);
  const nothing = { found: [], skipped: [], waiting: [] };
  const current = await readReported(link, "node", uuid);
  if (current === null) return { ...nothing, found: ids };
  const existing = await readPorts(link, uuid);
  const allAre = (reason: string) => ids.map((id) => ({ id, reason: hide(reason) }));
  const busy = isBusy(node, current);
  if (busy !== null) return { ...nothing, waiting: allAre(busy) };
  const reason = foreign.get(uuid) ?? reasonToSkip(link, node, ports, current, existing);
  if (reason !== null) return { ...nothing, skipped: allAre(reason) };
  const present = new Set([`node:${uuid}`, ...existing.map(portId)]);
  return { ...nothing, found: ids.filter((id) => !present.has(id)) };
}

const DELETE = "its DELETE";

async function takeBack(
  { link, outcome, fail: skip }: Work,
  machine: AdoptedMachine,
  blocker: string | null,
  retryPolicy: RetryPolicy,
): Promise<void> {
  const { uuid, node, ports } = machine;
  const ids = idsOf(machine);
  // Objects that existed at the DELETE count as deleted, even if the response was lost.
  const attempted = new Set<string>();
  const end = (): void => {
    outcome.done.push(...ids.filter((id) => attempted.has(id)));
    outcome.found.push(...ids.filter((id) => !attempted.has(id)));
  };
  const accepted = acceptedWrites();
  for (let tries = 0; ; tries += 1) {
    const current = await readReported(link, "node", uuid);
    if (current === null) return end();
    if (node !== null) outcome.state = isBeingUndone(current.row) ? UNPROTECTED : "";
    const existing = await readPorts(link, uuid);
    const busy = isBusy(node, current);
    const reason = busy ?? blocker ?? reasonToSkip(link, node, ports, current, existing);
    if (reason === null) {
      if (node !== null) outcome.state = UNPROTECTED;
      const runPorts = existing.filter((port) => ids.includes(portId(port)));
      if (node === null && runPorts.length === 0) return end();
      const exhausted = accepted.exhausted(DELETE);
      if (exhausted !== null) return skip(`${exhausted}, but it still exists`);
      const mine = node === null ? runPorts.map(portId) : [`node:${uuid}`, ...existing.map(portId)];
      const answer = await takeAway(link, uuid, node === null ? runPorts : null, current, () => {
        for (const id of mine) attempted.add(id);
      });
      if (answer === null) {
        if (accepted.has(DELETE)) await pause(tries);
        accepted.add(DELETE);
        continue;
      }
      const again = answer.status === 409 ? retryPolicy(tries) : tries < TRIES;
      // A 404 can also come from a proxy. The next read decides.
      if (!(again && (mayPass(answer) || answer.status === 404)))
        return skip(`it cannot be deleted: ${answer.fault}`);
    } else if (busy === null || !retryPolicy(tries)) return skip(reason);
    await pause(tries);
  }
}

function isBusy(planned: Row | null, { row }: IronicRow): string | null {
  if (typeof row.reservation === "string") return `reserved by conductor ${row.reservation}`;
  return isPassing(planned ?? {}, row) ? `it is ${String(row.provision_state)}` : null;
}

function reasonToSkip(
  { rows }: Link,
  node: Row | null,
  ports: readonly Row[],
  { row, hasAllocation }: IronicRow,
  existing: readonly Row[],
): string | null {
  if (node !== null) {
    // A failure at the last step leaves cleaning disabled.
    const goal = isUntouched(node, row) ? asMade(node) : node;
    const state = foundState(goal, row, rows.same, true);
    if (state.is === "not ours") return "it no longer has this tool's mark";
    if (state.is === "changed") return `changed since it was loaded: ${state.fields.join(", ")}`;
    if (hasAllocation) return "it has an allocation that this tool did not write";
  }
  const planned = new Map(ports.map((port) => [port.uuid, port]));
  for (const port of existing) {
    const plannedPort = planned.get(port.uuid ?? null);
    if (plannedPort === undefined) {
      if (node !== null) return `port ${String(port.uuid)} was added to it`;
      continue;
    }
    const { differs } = compareRow(plannedPort, port, rows.same);
    if (differs.length > 0)
      return `${portId(port)} changed since it was loaded: ${differs.map(({ field }) => field).join(", ")}`;
  }
  return null;
}

/** @param loose ports to delete without their node, or null to delete the node */
async function takeAway(
  link: Link,
  uuid: string,
  loose: readonly Row[] | null,
  { row }: IronicRow,
  deleting: () => void,
): Promise<Answer | null> {
  const unprotected: NodeChange = { op: "replace", path: ["protected"], after: false };
  const calls: readonly NodeCall[] = loose?.map((port) =>
    nodeCalls.deletePort(String(port.uuid)),
  ) ?? [
    ...(isBeingUndone(row) ? [] : [nodeCalls.maintenance(uuid, UNDOING)]),
    ...(row.protected === true ? [nodeCalls.patch(uuid, [unprotected])] : []),
    nodeCalls.delete(uuid),
  ];
  for (const { method, path, body } of calls) {
    if (method === "DELETE") deleting();
    const answer = await link.service.send(method, path, body);
    if (answer.status >= 200 && answer.status < 300) continue;
    stopIfForbidden(link, `${method} ${path}`, answer);
    return answer;
  }
  return null;
}
