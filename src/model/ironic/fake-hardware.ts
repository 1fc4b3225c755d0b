import { type Json, type JsonObject, objectOf } from "../../lib/json.ts";
import type { NodeChange } from "./rest.ts";

/** Hardware type whose operations do nothing. @source ironic: drivers/fake_hardware.py */
export const FAKE = "fake-hardware";

const HARMLESS = /^(fake|noop|no-[a-z]+)$/;

/** Why an operation could reach the machine. Empty if driver and interfaces are fake. */
export function notFake(node: JsonObject): readonly string[] {
  const interfaces = interfacesOf(node);
  return [
    ...(node.driver === FAKE ? [] : [`driver is ${String(node.driver)}`]),
    ...(interfaces.length === 0 ? ["it has no interfaces"] : []),
    ...interfaces
      .filter(([, value]) => typeof value !== "string" || !HARMLESS.test(value))
      .map(([name, value]) => `${name} is ${String(value)}`),
  ];
}

/** Why a deletion of its server, or a cleaning, could reach the machine. Null if it could not. */
export function harmless(now: JsonObject): string | null {
  const real = unsafe(now);
  return real.length === 0 ? null : `it is not completely on fake hardware: ${real.join(", ")}`;
}

function unsafe(node: JsonObject): readonly string[] {
  return [
    ...notFake(node),
    ...(node.automated_clean === false ? [] : ["automated_clean is not false"]),
  ];
}

/** Why Nova must not get the node. Null if it is free, and no deployment reaches a machine. */
export function notFree(node: JsonObject): string | null {
  const { provision_state: state, instance_uuid: instance = null } = node;
  const reasons = [
    ...unsafe(node),
    ...(state === "available" ? [] : [`it is ${String(state)}`]),
    ...(instance === null ? [] : [`it has instance ${String(instance)}`]),
  ];
  return reasons.length === 0 ? null : `it is not free on fake hardware: ${reasons.join(", ")}`;
}

function interfacesOf(node: JsonObject): readonly (readonly [string, Json])[] {
  return Object.entries(node).filter(([name]) => name.endsWith("_interface"));
}

/**
 * Other fields that a deployment may clear: a protected node is not torn down, and an automatic
 * lessee is removed.
 * @source ironic 21.4: conductor/manager.py, _do_node_tear_down
 */
const LOST = ["protected", "protected_reason", "lessee"];

/**
 * Fields that an operator has set in the meantime, and that must not be overwritten. Ironic never
 * protects a node itself, and marks an automatic lessee.
 * @source ironic 21.4: conductor/deployments.py, automatic_lessee
 */
function specifiedSince(before: JsonObject, now: JsonObject): readonly string[] {
  const isChosen = objectOf(now.driver_internal_info).automatic_lessee === true;
  const isSpecified = (name: string): boolean =>
    name === "lessee" ? (now.lessee ?? null) !== null && !isChosen : now.protected === true;
  return lostOf(before, now).filter(isSpecified);
}

function lostOf(before: JsonObject, now: JsonObject): readonly string[] {
  return LOST.filter((name) => name in before && (now[name] ?? null) !== (before[name] ?? null));
}

/** Values of the fields that are replaced while the node gets its server. */
export function imageOf(node: JsonObject): JsonObject {
  const lost = LOST.filter((name) => name in node);
  const fields = ["driver", "automated_clean", "power_state", "instance_info", ...lost];
  return {
    ...Object.fromEntries(fields.map((name) => [name, node[name] ?? null])),
    ...Object.fromEntries(interfacesOf(node)),
  };
}

/** Also sets the interfaces whose defaults may be real. */
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
 * Restores driver, interfaces and `instance_info`. Keeps the protection and lessee that an operator
 * has set in the meantime.
 * @param exact also remove new keys of `instance_info`
 */
export function swapChanges(before: JsonObject, now: JsonObject, exact: boolean): NodeChange[] {
  const [was, is] = [objectOf(before.instance_info), objectOf(now.instance_info)];
  const specified = specifiedSince(before, now);
  return [
    to("driver", before.driver),
    ...interfacesOf(before).map(([name, value]) => to(name, value)),
    to("automated_clean", before.automated_clean),
    ...lostOf(before, now)
      .filter((name) => !specified.includes(name))
      .map((name) => to(name, before[name])),
    ...(exact
      ? [to("instance_info", was)]
      : Object.entries(was)
          .filter(([key, value]) => JSON.stringify(is[key]) !== JSON.stringify(value))
          .map(([key, after]): NodeChange => ({ path: ["instance_info", key], after }))),
  ];
}

/** Differences in driver, interfaces, power and protection, except later values of an operator. */
export function notAsBefore(before: JsonObject, now: JsonObject): readonly string[] {
  const specified = specifiedSince(before, now);
  return differing(before, now, [
    ...["driver", "automated_clean", "power_state"],
    ...LOST.filter((name) => name in before && !specified.includes(name)),
    ...interfacesOf(before).map(([name]) => name),
  ]);
}

export function changedSince(before: JsonObject, now: JsonObject): readonly string[] {
  return [...notAsBefore(before, now), ...differing(before, now, specifiedSince(before, now))];
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

/** Why protection must not be removed: it was set or changed in the meantime. Else null. */
export function protectedSince(before: JsonObject, now: JsonObject): string | null {
  const differs = differing(before, now, ["protected", "protected_reason"]);
  return now.protected === true && differs.length > 0
    ? "another user has since protected it: unprotect it first"
    : null;
}

function to(field: string, value: Json | undefined): NodeChange {
  return { path: [field], after: value ?? null };
}
