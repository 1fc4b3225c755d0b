import { type Json, type JsonObject, objectOf } from "../../lib/json.ts";
import type { NodeChange } from "./rest.ts";

/** The hardware type that does nothing, whatever it is asked. @source ironic: drivers/fake_hardware.py */
export const FAKE = "fake-hardware";

const HARMLESS = /^(fake|noop|no-[a-z]+)$/;

/**
 * Why what is done with a node could reach its machine; empty where nothing of it can: its driver and each of
 * its interfaces does nothing.
 */
export function notFake(node: JsonObject): readonly string[] {
  const interfaces = interfacesOf(node);
  return [
    ...(node.driver === FAKE ? [] : [`driver is ${String(node.driver)}`]),
    ...(interfaces.length === 0 ? ["it tells no interfaces"] : []),
    ...interfaces.flatMap(([name, value]) =>
      typeof value === "string" && HARMLESS.test(value) ? [] : [`${name} is ${String(value)}`],
    ),
  ];
}

/** The same for a node whose server is deleted by Nova, or by Ironic: nothing is cleaned either. */
export function unsafe(node: JsonObject): readonly string[] {
  const cleans = node.automated_clean === false ? [] : ["automated_clean is not false"];
  return [...notFake(node), ...cleans];
}

/** Why Nova may not be given it; null: it is free, and whatever is deployed on it reaches no machine. */
export function notFree(node: JsonObject): string | null {
  const { provision_state: state, instance_uuid: instance = null } = node;
  const why = [
    ...unsafe(node),
    ...(state === "available" ? [] : [`it is ${String(state)}`]),
    ...(instance === null ? [] : [`it has instance ${String(instance)}`]),
  ];
  return why.length === 0 ? null : `it is not free on fake hardware: ${why.join(", ")}`;
}

/** `boot_interface` and all its like, as this service has them. */
function interfacesOf(node: JsonObject): readonly (readonly [string, Json])[] {
  return Object.entries(node).filter(([name]) => name.endsWith("_interface"));
}

/**
 * What else is lost while it gets its server, where this Ironic has it: who is protected is not deleted, and a lessee
 * that Ironic chose goes with what he leased.
 *
 * @source ironic 21.4: conductor/manager.py, _do_node_tear_down
 */
const LOST = ["protected", "protected_reason", "lessee"];

/**
 * Which of that is somebody's word since, and not to be written over: Ironic protects none by itself, and a lessee that it
 * chose it tells.
 *
 * @source ironic 21.4: conductor/deployments.py, automatic_lessee
 */
function saidSince(before: JsonObject, now: JsonObject): readonly string[] {
  const isChosen = objectOf(now.driver_internal_info).automatic_lessee === true;
  const isSaid = (name: string): boolean =>
    name === "lessee" ? (now.lessee ?? null) !== null && !isChosen : now.protected === true;
  return lostOf(before, now).filter(isSaid);
}

function lostOf(before: JsonObject, now: JsonObject): readonly string[] {
  return LOST.filter((name) => name in before && (now[name] ?? null) !== (before[name] ?? null));
}

/** What of a node is replaced while it gets its server, as it was. */
export function imageOf(node: JsonObject): JsonObject {
  const lost = LOST.filter((name) => name in node);
  const fields = ["driver", "automated_clean", "power_state", "instance_info", ...lost];
  return {
    ...Object.fromEntries(fields.map((name) => [name, node[name] ?? null])),
    ...Object.fromEntries(interfacesOf(node)),
  };
}

/** Makes a node do nothing: what the conductors' defaults may make real is named. */
export function fakeChanges(now: JsonObject): readonly NodeChange[] {
  return [
    to("driver", FAKE),
    to("network_interface", "noop"),
    to("storage_interface", "noop"),
    to("automated_clean", false),
    ...(now.protected === true ? [to("protected", false)] : []),
  ];
}

/**
 * Gives a node its driver and each interface back, and what stood in `instance_info`; what somebody said since of its
 * protection or its lessee stays.
 *
 * @param exact what came to `instance_info` since goes; else it stays beside what was
 */
export function swapChanges(before: JsonObject, now: JsonObject, exact: boolean): NodeChange[] {
  const [was, is] = [objectOf(before.instance_info), objectOf(now.instance_info)];
  const said = saidSince(before, now);
  return [
    to("driver", before.driver),
    ...interfacesOf(before).map(([name, value]) => to(name, value)),
    to("automated_clean", before.automated_clean),
    ...lostOf(before, now)
      .filter((name) => !said.includes(name))
      .map((name) => to(name, before[name])),
    ...(exact
      ? [to("instance_info", was)]
      : Object.entries(was)
          .filter(([key, value]) => JSON.stringify(is[key]) !== JSON.stringify(value))
          .map(([key, after]): NodeChange => ({ path: ["instance_info", key], after }))),
  ];
}

/** What of driver, interfaces, power and protection is not as it was, but for what somebody said since and may stay. */
export function notAsBefore(before: JsonObject, now: JsonObject): readonly string[] {
  const said = saidSince(before, now);
  return differing(before, now, [
    ...["driver", "automated_clean", "power_state"],
    ...LOST.filter((name) => name in before && !said.includes(name)),
    ...interfacesOf(before).map(([name]) => name),
  ]);
}

/** The same with that, of one that is to lose it. */
export function changedSince(before: JsonObject, now: JsonObject): readonly string[] {
  return [...notAsBefore(before, now), ...differing(before, now, saidSince(before, now))];
}

function differing(
  before: JsonObject,
  now: JsonObject,
  names: readonly string[],
): readonly string[] {
  return names.flatMap((name) => {
    const [was, is] = [before[name] ?? null, now[name] ?? null];
    return was === is ? [] : [`${name} is ${String(is)}, and was ${String(was)}`];
  });
}

/** Why its protection is not to be taken off: somebody gave it since, or for another reason; null: nothing is. */
export function protectedSince(before: JsonObject, now: JsonObject): string | null {
  const names = ["protected", "protected_reason"];
  return now.protected === true && differing(before, now, names).length > 0
    ? "somebody protected it meanwhile: unprotect it first"
    : null;
}

function to(field: string, value: Json | undefined): NodeChange {
  return { path: [field], after: value ?? null };
}
