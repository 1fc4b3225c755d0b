import type { JsonObject } from "../../lib/json.ts";
import { inOrder } from "../../lib/streams.ts";
import { type NodeWrite, nodeCalls, type VolumeKind } from "../../systems/ironic-api/node.ts";
import type { CallState } from "../../systems/openstack/settled.ts";
import type { SwitchSide } from "../rules/switching.ts";
import { bothNodes, isLive, isOff, offGuard, spareTimeout, unkept } from "./switch-guard.ts";
import {
  blocked,
  next,
  REACHED,
  type SwitchAt,
  type SwitchPosition,
  type SwitchStep,
} from "./switch-part.ts";

/** The destination needs the initiator before its volumes. */
const FORTH: readonly VolumeKind[] = ["connectors", "targets"];

/** Moves connectors, then targets, only by `node_uuid`, which keeps masked secrets. */
export function volumesStep(at: SwitchAt): SwitchStep {
  const { calls, plan } = at;
  const guard = offGuard(at);
  const spareOff = spareGuard(at);
  const ready = async (): Promise<string | null> => {
    const source = await calls.read(plan.source);
    return isLive(source) ? `node ${plan.source} is on again` : unkept(at, source);
  };
  return {
    async inspect(image) {
      const [targets, position, source] = await inOrder([
        calls.volumesOf("targets", plan.source),
        moves(at, FORTH, "source", "destination", ready),
        calls.read(plan.source),
      ]);
      const more = targets.filter((uuid) => !plan.targets.includes(uuid));
      if (more.length > 0)
        return blocked(`node ${plan.source} now has another volume target: ${more.join(", ")}`);
      if (position.is !== "before") return position;
      const record = image ?? { connectors: plan.connectors, targets: plan.targets };
      return guard.inspect(record, source) ?? { ...position, image: record };
    },
    async inspectBack() {
      const isReady = async () => notOff(at, await calls.read(plan.destination));
      const position = await moves(at, FORTH.toReversed(), "destination", "source", isReady);
      if (position.is !== "before") return position;
      const [{ power_state }, spare] = await bothNodes(at);
      // Ironic accepts volumes only for a node with power_state off.
      if (power_state !== "power off")
        return blocked(
          `volumes cannot be moved back until Ironic shows node ${plan.source} as 'power off': it is ${String(power_state ?? null)}`,
        );
      return spareOff(spare) ?? position;
    },
  };
}

/** Proves the spare off before it returns volumes. Fails if Ironic reports it on. */
function spareGuard(at: SwitchAt): (spare: JsonObject) => SwitchPosition | null {
  const checkBusy = spareTimeout(at);
  const sent = new Set<string>();
  return (spare) => {
    const busy = checkBusy(spare);
    const reason = notOff(at, spare, sent.has("power off"));
    if (busy !== null) return busy;
    if (reason !== null)
      return { ...blocked(reason), ...(spare.power_state !== "power on" && { unproven: true }) };
    if (sent.has("power off")) return null;
    const proof = at.fence.spare === null ? undefined : { ...at.fence.spare };
    const write = at.calls.power(at.plan.destination, { target: "power off" });
    return next([write], proof, () => sent.add("power off"));
  };
}

/**
 * An old last_error may remain with `power on`. For an unreachable BMC, power_state is null.
 *
 * @param isRequested the BMC was just read, so an error is current
 * @source facts/systems-measured.md B2+
 */
function notOff({ fence }: SwitchAt, spare: JsonObject, isRequested = true): string | null {
  const { uuid, power_state = null, last_error = null } = spare;
  if (isRequested ? isOff(spare) : power_state === "power off") return null;
  const isOn = power_state === "power on";
  if (fence.spare !== null && !isOn) return null;
  const dead = isOn ? "wait until Ironic shows no power_state, then " : "";
  return `volumes cannot be moved back while node ${String(uuid)} is not confirmed to be off: power_state is ${String(power_state)}, last_error ${String(last_error)}. Power it off, then run rollback again. If its BMC is dead, ${dead}run rollback with --fence-command PROGRAM`;
}

async function moves(
  { calls, plan }: SwitchAt,
  kinds: readonly VolumeKind[],
  from: SwitchSide,
  to: SwitchSide,
  ready: () => Promise<string | null>,
): Promise<SwitchPosition> {
  const todo: NodeWrite[] = [];
  const faults: string[] = [];
  const all = kinds.flatMap((kind) => plan[kind].map((uuid) => ({ kind, uuid })));
  const owners = await inOrder(all.map(({ kind, uuid }) => calls.ownerOf(kind, uuid)));
  for (const [index, { kind, uuid }] of all.entries()) {
    const owner = owners[index] ?? null;
    if (owner === plan[to]) continue;
    const name = `volume ${kind.slice(0, -1)} ${uuid}`;
    if (owner === null) faults.push(`${name} was deleted`);
    else if (owner !== plan[from]) faults.push(`${name} belongs to node ${owner}`);
    else
      todo.push({
        ...{ what: `PATCH of ${name}`, on: [plan.source, plan.destination] },
        async read(): Promise<CallState> {
          const [now, reason] = await inOrder([calls.ownerOf(kind, uuid), ready()]);
          if (now === plan[to]) return "made";
          return reason === null ? "open" : { reason };
        },
        call: () =>
          nodeCalls.patchVolume(`${kind}/${uuid}`, [
            { op: "replace", path: ["node_uuid"], after: plan[to] },
          ]),
      });
  }
  // A rollback also proceeds with conflicts.
  if (faults.length > 0 && (to === "destination" || todo.length === 0)) return blocked(...faults);
  return todo.length === 0 ? REACHED : { ...next(todo), reasons: faults };
}

/** Moves Neutron ports in order. Each gets a MAC of the destination and keeps its addresses. */
export function vifsStep(at: SwitchAt): SwitchStep {
  const { calls, plan } = at;
  const write = (node: string, vif: string, isAttached: boolean): NodeWrite => ({
    what: `${isAttached ? "attaching" : "detaching"} VIF ${vif} ${isAttached ? "to" : "from"} node ${node}`,
    on: [plan.source, plan.destination],
    read: async () => ((await calls.vifs(node)).includes(vif) === isAttached ? "made" : "open"),
    call: () => (isAttached ? nodeCalls.attach : nodeCalls.detach)(node, vif),
  });
  const moved = async (
    vifs: readonly string[],
    from: string,
    to: string,
  ): Promise<SwitchPosition> => {
    const attachmentsOf = async (): Promise<readonly string[]> =>
      (await calls.isNodeAbsent(from)) ? [] : calls.vifs(from);
    const [attached, present] = await inOrder([attachmentsOf(), calls.vifs(to)]);
    const missing = vifs.findIndex((vif) => !present.includes(vif));
    // The order decides the NIC, so VIFs after the first missing one are attached again.
    const again = missing === -1 ? [] : vifs.slice(missing).filter((vif) => present.includes(vif));
    const todo = vifs.flatMap((vif) => [
      ...(attached.includes(vif) ? [write(from, vif, false)] : []),
      ...(present.includes(vif) && !again.includes(vif) ? [] : [write(to, vif, true)]),
    ]);
    if (todo.length === 0) return REACHED;
    return next([...again.map((vif) => write(to, vif, false)), ...todo]);
  };
  return {
    async inspect(image) {
      const record = image ?? { vifs: await calls.vifs(plan.source) };
      const position = await moved(vifsIn(record), plan.source, plan.destination);
      return position.is === "before" ? { ...position, image: record } : position;
    },
    inspectBack: (image) => moved(vifsIn(image), plan.destination, plan.source),
  };
}

function vifsIn({ vifs }: { readonly [key: string]: unknown }): readonly string[] {
  return Array.isArray(vifs) ? vifs.map(String) : [];
}
