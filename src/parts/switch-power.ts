import type { SwitchWrite } from "../edge/ironic-rest/switch-calls.ts";
import type { Stand } from "../edge/openstack/settled.ts";
import type { JsonObject } from "../model/json.ts";
import { objectOf } from "../model/json.ts";
import {
  next,
  REACHED,
  type SwitchAt,
  type SwitchPosition,
  type SwitchStep,
  stays,
  WAITS,
} from "./switch-part.ts";

/** States in which a conductor is on its way to another. */
const PASSING: ReadonlySet<unknown> = new Set([
  ...["verifying", "cleaning", "clean wait", "deploying", "wait call-back", "deleting"],
]);

/** A conductor works on it. What failed keeps its target_provision_state: that says nothing. */
export function isBusy({ reservation, target_power_state, provision_state }: JsonObject): boolean {
  const has = (one: unknown): boolean => typeof one === "string" && one !== "";
  return has(reservation) || has(target_power_state) || PASSING.has(provision_state);
}

/** @param body of the PUT; `target` says to which state */
export function powerWrite(
  { calls }: SwitchAt,
  node: string,
  body: { readonly target: string; readonly timeout?: number },
): SwitchWrite {
  let told = false;
  return {
    what: `${body.target} of node ${node}`,
    async look(): Promise<Stand> {
      const { target_power_state } = await calls.node(node);
      // Of a call whose answer was lost.
      const isTaken = told && typeof target_power_state === "string";
      told = true;
      return isTaken ? "made" : "open";
    },
    ...{ method: "PUT", path: `/v1/nodes/${node}/states/power`, body },
  };
}

/** @param from the state in which it is made */
export function provisionWrite(
  { calls }: SwitchAt,
  node: string,
  target: string,
  from: readonly string[],
): SwitchWrite {
  return {
    what: `${target} of node ${node}`,
    async look(): Promise<Stand> {
      const { provision_state } = await calls.node(node);
      return from.includes(String(provision_state)) ? "open" : "made";
    },
    ...{ method: "PUT", path: `/v1/nodes/${node}/states/provision`, body: { target } },
  };
}

/** Brings the destination to `manageable`, and off: Ironic takes no volume for a machine that is on. */
export function destinationStep(at: SwitchAt): SwitchStep {
  const { calls, plan } = at;
  const id = plan.destination;
  const tries = new Set<string>();
  const once = (name: string, write: SwitchWrite, image: JsonObject, fault: unknown) => {
    if (tries.has(name)) return stays(`${write.what} failed: ${String(fault)}`);
    return next([write], image, () => tries.add(name));
  };
  return {
    name: "switchover-destination",
    async look(image) {
      const node = await calls.node(id);
      const { provision_state, power_state, last_error } = node;
      const kept = image ?? {
        provision_state: provision_state ?? null,
        power_state: power_state ?? null,
      };
      if (isBusy(node)) return WAITS;
      if (provision_state === "enroll")
        return once("manage", provisionWrite(at, id, "manage", ["enroll"]), kept, last_error);
      if (provision_state !== "manageable")
        return stays(`node ${id} is ${String(provision_state)}, expected manageable`);
      if (power_state === "power off") return REACHED;
      return once("off", powerWrite(at, id, { target: "power off" }), kept, last_error);
    },
    // An enrolled one stays manageable: there is no way from there to enroll.
    lookBack: (image) => poweredAgain(at, id, image),
  };
}

/** On again where it was on. */
async function poweredAgain(
  at: SwitchAt,
  id: string,
  { power_state }: JsonObject,
): Promise<SwitchPosition> {
  const node = await at.calls.node(id);
  if (power_state !== "power on" || node.power_state === "power on") return REACHED;
  if (isBusy(node)) return WAITS;
  return next([powerWrite(at, id, { target: "power on" })]);
}

/**
 * Shuts the source down, softly first, and proves that it is off: power_state says so in two reads, some time apart,
 * without an error, after a call of ours that reached its BMC. A BMC that is dead answers such a call with 202 too.
 *
 * @source facts/systems-measured.md B2+
 */
export function sourceOffStep(at: SwitchAt): SwitchStep {
  const { calls, plan, times, now } = at;
  const id = plan.source;
  /** What this process asked for last, since when it is hard, and since when it is seen off. */
  let asked: "soft power off" | "power off" | null = null;
  let hardSince: number | null = null;
  let offSince: number | null = null;
  const ask = (target: "soft power off" | "power off", image: JsonObject): SwitchPosition => {
    const timeout = Math.max(1, Math.round(times.soft / 1000));
    const body = target === "power off" ? { target } : { target, timeout };
    // A driver that cannot do it says 400: a hard power off follows.
    const kept = { ...image, asked: target };
    return next([{ ...powerWrite(at, id, body), mayRefuse: true }], kept, () => {
      asked = target;
      offSince = null;
      if (target === "power off") hardSince ??= now();
    });
  };
  return {
    name: "switchover-power",
    async look(image, kept) {
      if (isFenced(at)) return REACHED;
      const node = await calls.node(id);
      const { power_state, last_error, driver_internal_info } = node;
      const { last_power_state_change = null } = objectOf(driver_internal_info);
      const found = image ?? { power_state: power_state ?? null, last_power_state_change };
      if (isBusy(node)) return WAITS;
      const isOff = power_state === "power off";
      const wasAsked = (target: string) => kept.some((one) => one.asked === target);
      if (asked === null)
        // A BMC that is asked for what is so already is asked all the same, and told nothing.
        return ask(isOff || wasAsked("power off") ? "power off" : "soft power off", found);
      const isOurs =
        found.power_state !== "power on" ||
        last_power_state_change === null ||
        last_power_state_change !== found.last_power_state_change;
      if (isOff && (last_error ?? null) === null && isOurs) {
        offSince ??= now();
        return now() - offSince >= times.interval ? REACHED : WAITS;
      }
      offSince = null;
      if (asked === "soft power off") return ask("power off", found);
      const by = at.fenced();
      if (by !== null) return next([], { ...found, ...by });
      if (now() - (hardSince ?? now()) < times.proof) return ask("power off", found);
      const says = `power_state is ${String(power_state ?? null)}, last_error ${String(last_error ?? null)}`;
      return { ...stays(`node ${id} is not known to be off: ${says}`), unproven: true };
    },
    async lookBack(image) {
      for (const kind of ["targets", "connectors"] as const)
        for (const uuid of plan[kind])
          if ((await calls.ownerOf(kind, uuid)) !== id)
            return stays(`node ${id} is not powered on: not all of its volumes are back`);
      return poweredAgain(at, id, image);
    },
  };
}

/** Whether somebody but its BMC said that the source is off. */
export function isFenced({ keptOf }: Pick<SwitchAt, "keptOf">): boolean {
  return keptOf("switchover-power").some(({ proof }) => proof !== undefined);
}

const REASON = "nova2ironic switchover";

/** The reason of the maintenance in which a source is left. */
export function reasonFor({ id, destination }: SwitchAt["plan"]): string {
  return `${REASON} ${id} to ${destination}`;
}

/** Puts the source into maintenance, so that no conductor makes it boot again. */
export function maintenanceStep(at: SwitchAt): SwitchStep {
  const { calls, plan } = at;
  const id = plan.source;
  const path = `/v1/nodes/${id}/maintenance`;
  const reason = reasonFor(plan);
  const what = `the maintenance of node ${id}`;
  const isOurs = async (): Promise<Stand> =>
    (await calls.node(id)).maintenance_reason === reason ? "made" : "open";
  const isNone = async (): Promise<Stand> =>
    (await calls.node(id)).maintenance === true ? "open" : "made";
  const put = (look: () => Promise<Stand>, body: object): SwitchWrite => {
    return { what, look, method: "PUT", path, body };
  };
  const end: SwitchWrite = { what: `the end of ${what}`, look: isNone, method: "DELETE", path };
  return {
    name: "switchover-maintenance",
    async look(image) {
      const { maintenance, maintenance_reason = null, fault = null } = await calls.node(id);
      if (maintenance === true && maintenance_reason === reason) return REACHED;
      const kept = image ?? { maintenance: maintenance === true, maintenance_reason, fault };
      // A fault would let Ironic end this maintenance by itself, once the BMC answers again.
      return next([...(fault === null ? [] : [end]), put(isOurs, { reason })], kept);
    },
    async lookBack(image) {
      const { maintenance, maintenance_reason = null } = await calls.node(id);
      const was = image.maintenance === true;
      if (
        (maintenance === true) === was &&
        (!was || maintenance_reason === image.maintenance_reason)
      )
        return REACHED;
      if (maintenance === true && maintenance_reason !== reason)
        return stays(`node ${id} is in maintenance: ${String(maintenance_reason)}`);
      if (!was) return next([end]);
      const before = image.maintenance_reason ?? null;
      const isBefore = async (): Promise<Stand> => {
        const node = await calls.node(id);
        const same = node.maintenance === true && (node.maintenance_reason ?? null) === before;
        return same ? "made" : "open";
      };
      return next([put(isBefore, before === null ? {} : { reason: before })]);
    },
  };
}
