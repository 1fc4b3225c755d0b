import { type Json, type JsonObject, objectOf } from "../../lib/json.ts";
import { type NodeWrite, nodeCalls } from "../../systems/ironic-api/node.ts";
import {
  areVolumesOf,
  isBusy,
  isLive,
  isOff,
  otherInstance,
  ownersOf,
  reasonFor,
  spareTimeout,
  unmarked,
} from "./switch-guard.ts";
import {
  blocked,
  next,
  REACHED,
  type SwitchAt,
  type SwitchPosition,
  type SwitchStep,
  taken,
  WAITS,
} from "./switch-part.ts";

/** Makes the destination `manageable`, and off because Ironic then accepts volumes. */
export function destinationStep(at: SwitchAt): SwitchStep {
  const { calls, plan } = at;
  const id = plan.destination;
  const tries = new Set<string>();
  const checkBusy = spareTimeout(at);
  const once = (name: string, write: NodeWrite, image: JsonObject, fault: unknown) => {
    if (tries.has(name))
      return blocked(`${write.what} failed: ${String(fault ?? "no reason is given")}`);
    return next([write], image, () => tries.add(name));
  };
  return {
    async inspect(image) {
      const node = await calls.read(id);
      const { provision_state, power_state, last_error } = node;
      const record = image ?? {
        provision_state: provision_state ?? null,
        power_state: power_state ?? null,
      };
      const busy = checkBusy(node);
      if (busy !== null) return busy;
      const foreign = unmarked(at, node);
      if (foreign !== null) return taken(foreign);
      if (provision_state === "enroll")
        return once("manage", calls.provision(id, "manage", ["enroll"]), record, last_error);
      if (provision_state !== "manageable")
        return taken(`node ${id} is ${String(provision_state)}, expected manageable`);
      if (power_state === "power off") return REACHED;
      // A newly enrolled node may be in use.
      if (plan.picked) {
        const is = power_state === "power on" ? "on" : "not confirmed to be off";
        return { ...taken(`node ${id} is ${is}, and it was not specified`), code: "N2I-E384" };
      }
      return once("off", calls.power(id, { target: "power off" }), record, last_error);
    },
    // An enrolled node stays manageable, because Ironic has no transition to enroll.
    inspectBack: poweredAgain(at, id),
  };
}

/** Powers on only once, and not if another node has a volume or the BMC was fenced. */
function poweredAgain(at: SwitchAt, id: string): (image: JsonObject) => Promise<SwitchPosition> {
  const sent = new Set<string>();
  return async ({ power_state }) => {
    if (power_state !== "power on") return REACHED;
    const isNodeAbsent = await at.calls.isNodeAbsent(id);
    if (isNodeAbsent && id === at.plan.destination) return REACHED;
    const owners = await ownersOf(at);
    const { source, destination } = at.plan;
    // A spare without volumes of the source can be powered on safely.
    if (id === source ? owners.some((owner) => owner !== source) : owners.includes(destination))
      return blocked(`node ${id} is not powered on: not all volumes of the source are back`);
    if (isNodeAbsent) return blocked(`node ${id} was deleted`);
    const node = await at.calls.read(id);
    if (node.power_state === "power on") return REACHED;
    if (isBusy(node)) return WAITS;
    // Without our mark, others may use the node.
    const foreign = id === source ? otherInstance(at, node) : unmarked(at, node);
    if (foreign !== null) return blocked(`node ${id} is not powered on: ${foreign}`);
    const wasFenced =
      id === source && at.recordsOf("switchover-power").some(({ proof }) => proof !== undefined);
    if (wasFenced || sent.has("power on")) {
      const reason = wasFenced ? "its power was cut by hand" : String(node.last_error ?? null);
      return blocked(`node ${id} was on before; power it on by hand: ${reason}`);
    }
    const write = at.calls.power(id, { target: "power on" });
    return next([write], undefined, () => sent.add("power on"));
  };
}

/** The last request to the source. `power off again` is the second read of the proof. */
type PowerOffRequest = "soft power off" | "power off" | "power off again";

/** Milliseconds before a failed power off is repeated. */
const AGAIN = 5000;

/**
 * Proves that the source is off: after our call, power_state is off without an error, and again
 * later after a call that makes Ironic read the BMC. An unreachable BMC also answers with 202.
 * Other proof counts only in the process that received it, and only if the BMC does not answer.
 *
 * @source facts/systems-measured.md B2+
 */
export function sourceOffStep(at: SwitchAt): SwitchStep {
  const { calls, plan, times, now, fence } = at;
  const id = plan.source;
  /** The last request, the start of hard requests, and the first read as off. */
  let lastRequest: PowerOffRequest | null = null;
  let hardSince: number | null = null;
  let requestedAt = 0;
  let offSince: number | null = null;
  const ask = (request: PowerOffRequest, image: JsonObject): SwitchPosition => {
    const timeout = Math.max(1, Math.round(times.soft / 1000));
    const isSoft = request === "soft power off";
    const body = isSoft ? { target: request, timeout } : { target: "power off" };
    // If the driver has no soft power off (400), a hard one follows.
    const write = { ...calls.power(id, body), ...(isSoft && { mayRefuse: true as const }) };
    return next([write], { ...image, asked: request }, () => {
      [lastRequest, requestedAt] = [request, now()];
      if (request !== "power off again") offSince = null;
      if (request === "power off") hardSince ??= now();
    });
  };
  /** No shutdown time if a volume may have moved. */
  const mustBeHard = (node: JsonObject): boolean =>
    isOff(node) ||
    at.recordsOf("switchover-power").some((one) => one.asked === "power off") ||
    at.recordsOf("switchover-volumes").length > 0;
  return {
    async inspect(image) {
      if (fence.counts) return REACHED;
      const node = await calls.read(id);
      const { power_state, last_error, driver_internal_info } = node;
      const { last_power_state_change = null } = objectOf(driver_internal_info);
      const found = image ?? { power_state: power_state ?? null, last_power_state_change };
      if (isBusy(node)) return WAITS;
      if (lastRequest === null) {
        const foreign = otherInstance(at, node);
        if (foreign !== null) return blocked(foreign);
        // For a machine that is off, Ironic only reads the BMC.
        return ask(mustBeHard(node) ? "power off" : "soft power off", found);
      }
      const isOfThisRun =
        found.power_state !== "power on" ||
        last_power_state_change === null ||
        last_power_state_change !== found.last_power_state_change;
      if (isOff(node) && isOfThisRun) {
        if (lastRequest === "power off again" && offSince !== null) return REACHED;
        offSince ??= now();
        return now() - offSince >= times.interval ? ask("power off again", found) : WAITS;
      }
      offSince = null;
      if (lastRequest === "soft power off") return ask("power off", found);
      // The BMC's answer takes precedence over other proof.
      if (fence.source !== null && !isLive(node))
        return next([], { ...found, ...fence.source }, () => {
          fence.counts = true;
        });
      hardSince ??= now();
      if (now() - hardSince < times.proof)
        return now() - requestedAt < AGAIN ? WAITS : ask("power off", found);
      const fields = `power_state is ${String(power_state ?? null)}, last_error ${String(last_error ?? null)}`;
      return { ...blocked(`node ${id} is not confirmed to be off: ${fields}`), unproven: true };
    },
    inspectBack: poweredAgain(at, id),
  };
}

export function maintenanceStep(at: SwitchAt): SwitchStep {
  const { calls, plan } = at;
  const id = plan.source;
  const reason = reasonFor(plan);
  const what = "the maintenance";
  const isOfThisRun = (node: JsonObject): boolean => node.maintenance_reason === reason;
  const isNone = (node: JsonObject): boolean => node.maintenance !== true;
  const put = (is: (node: JsonObject) => boolean, newReason: Json): NodeWrite =>
    calls.prepare(id, what, { is }, () => nodeCalls.maintenance(id, newReason));
  const end = calls.prepare(id, `the end of ${what}`, { is: isNone }, () =>
    nodeCalls.endMaintenance(id),
  );
  return {
    async inspect(image) {
      const { maintenance, maintenance_reason = null, fault = null } = await calls.read(id);
      if (maintenance === true && maintenance_reason === reason) return REACHED;
      const record = image ?? { maintenance: maintenance === true, maintenance_reason, fault };
      // With a fault, Ironic would end the maintenance when the BMC answers again.
      return next([...(fault === null ? [] : [end]), put(isOfThisRun, reason)], record);
    },
    async inspectBack(image) {
      if (!(await areVolumesOf(at, "source")))
        return blocked(`node ${id} stays in maintenance: not all of its volumes are back`);
      const { maintenance, maintenance_reason = null } = await calls.read(id);
      const was = image.maintenance === true;
      const isSameReason = !was || maintenance_reason === image.maintenance_reason;
      if ((maintenance === true) === was && isSameReason) return REACHED;
      if (maintenance === true && maintenance_reason !== reason)
        return blocked(`node ${id} is in maintenance: ${String(maintenance_reason)}`);
      if (!was) return next([end]);
      const before = image.maintenance_reason ?? null;
      const isBefore = ({ maintenance: is, maintenance_reason: text }: JsonObject): boolean =>
        is === true && (text ?? null) === before;
      return next([put(isBefore, before)]);
    },
  };
}
