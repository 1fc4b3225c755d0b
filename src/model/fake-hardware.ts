import { isObject, type Json, type JsonObject } from "./json.ts";

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

/** What of a node is replaced while it gets its server, as it was. */
export function imageOf(node: JsonObject): JsonObject {
  const fields = ["driver", "automated_clean", "power_state", "instance_info"];
  return {
    ...Object.fromEntries(fields.map((name) => [name, node[name] ?? null])),
    ...Object.fromEntries(interfacesOf(node)),
  };
}

/** Makes a node do nothing: what the conductors' defaults may make real is named. */
export const FAKE_PATCH: readonly Json[] = [
  add("driver", FAKE),
  add("network_interface", "noop"),
  add("storage_interface", "noop"),
  add("automated_clean", false),
];

/**
 * Gives a node its driver and each interface back, and what stood in `instance_info`.
 *
 * @param exact what came to `instance_info` since goes; else it stays beside what was
 */
export function swapPatch(before: JsonObject, now: JsonObject, exact: boolean): readonly Json[] {
  const [was, is] = [objectIn(before.instance_info), objectIn(now.instance_info)];
  const differs = ([key, value]: readonly [string, Json]): boolean =>
    JSON.stringify(is[key]) !== JSON.stringify(value);
  return [
    add("driver", before.driver ?? null),
    ...interfacesOf(before).map(([name, value]) => add(name, value)),
    add("automated_clean", before.automated_clean ?? null),
    ...(exact
      ? [add("instance_info", was)]
      : Object.entries(was)
          .filter(differs)
          .map(([key, value]) => add(`instance_info/${escaped(key)}`, value))),
  ];
}

/** What of driver, interfaces and power is not as it was. */
export function notAsBefore(before: JsonObject, now: JsonObject): readonly string[] {
  const names = ["driver", "automated_clean", "power_state"];
  return [...names, ...interfacesOf(before).map(([name]) => name)].flatMap((name) => {
    const [was, is] = [before[name] ?? null, now[name] ?? null];
    return was === is ? [] : [`${name} is ${String(is)}, and was ${String(was)}`];
  });
}

/** RFC 6901. */
function escaped(key: string): string {
  return key.replaceAll("~", "~0").replaceAll("/", "~1");
}

function add(path: string, value: Json): Json {
  return { op: "add", path: `/${path}`, value };
}

function objectIn(value: Json | undefined): JsonObject {
  return isObject(value) ? value : {};
}
