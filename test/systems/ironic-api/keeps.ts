import { isObject, type Json } from "../../../src/lib/json.ts";
import type { Says } from "../../support/faulty-service.ts";

type Body = Record<string, Json>;

/** What a stand-in for Ironic keeps, by uuid. */
export interface LoadedRows {
  readonly nodes: Map<string, Body>;
  readonly ports: Map<string, Body>;
}

/** Where a verb leads to, and from where. */
const VERBS: { readonly [target: string]: readonly [to: string, ...from: readonly string[]] } = {
  manage: ["manageable", "enroll", "adopt failed", "available"],
  adopt: ["active", "manageable", "adopt failed"],
  provide: ["available", "manageable"],
};

/**
 * Does what Ironic would do of a call, and answers as it would.
 *
 * @source facts/ironic.md 4.2, 4.4, 4.6
 */
export function answerTo(held: LoadedRows, call: string, body: unknown): Says {
  const [method = "", path = ""] = call.split(" ");
  const url = new URL(path, "http://ironic");
  const [, , kind = "", uuid = "", ...rest] = url.pathname.split("/");
  if (kind === "drivers")
    return says(200, { drivers: DRIVERS.map((name) => ({ name, hosts: ["a"] })) });
  if (kind === "conductors") return says(200, { conductors: [CONDUCTOR] });
  if (kind !== "nodes" && kind !== "ports") return says(200, {});
  const kept = held[kind];
  const one = kept.get(uuid);
  const sent = isObject(body) ? body : {};
  if (method === "POST") return post(held, kind, { ...sent });
  if (method === "GET" && (uuid === "" || uuid === "detail"))
    return says(200, { [kind]: [...kept.values()].filter((row) => asked(row, url.searchParams)) });
  if (one === undefined) return refuses(404, `${kind} ${uuid} could not be found.`);
  switch (`${method} ${rest.join("/")}`) {
    case "GET ":
      return says(200, one);
    case "PUT states/provision":
      return provision(one, String(sent.target));
    case "PUT maintenance":
      Object.assign(one, { maintenance: true, maintenance_reason: sent.reason ?? null });
      return says(202, {});
    case "DELETE maintenance":
      Object.assign(one, { maintenance: false, maintenance_reason: null });
      return says(202, {});
    case "PUT traits":
      one.traits = sent.traits ?? [];
      return { status: 204, text: "" };
    case "PATCH ":
      // As 2023.1 does: it looks at a value that a removal has not.
      if (Array.isArray(body) && body.some((operation) => removesClean(operation)))
        return refuses(500, "'value'");
      for (const operation of Array.isArray(body) ? body : [])
        if (isObject(operation)) one[String(operation.path).slice(1)] = operation.value ?? null;
      // A reason goes with the protection it is for.
      if (one.protected !== true) one.protected_reason = null;
      return says(200, one);
    case "DELETE ":
      return remove(held, kind, uuid, one);
    default:
      return refuses(404, "no such call");
  }
}

function provision(node: Body, target: string): Says {
  const [to = "", ...from] = VERBS[target] ?? [];
  const state = String(node.provision_state);
  if (!from.includes(state)) return refuses(400, `${target} can not be performed in ${state}.`);
  // Cleaning begins unless the node itself refuses it.
  const cleans = target === "provide" && node.automated_clean !== false;
  node.provision_state = cleans ? "clean wait" : to;
  return says(202, {});
}

const DRIVERS = ["fake-hardware", "manual-management"];
const CONDUCTOR = { hostname: "a", conductor_group: "", alive: true, drivers: DRIVERS };

function asked(row: Body, query: URLSearchParams): boolean {
  return ["node_uuid", "address"].every((field) => (query.get(field) ?? row[field]) === row[field]);
}

function post(held: LoadedRows, kind: keyof LoadedRows, row: Body): Says {
  const uuid = String(row.uuid);
  if (held[kind].has(uuid)) return refuses(409, `${kind} ${uuid} already exists.`);
  const made = {
    console_enabled: false,
    maintenance: false,
    protected: false,
    provision_state: "enroll",
    ...row,
  };
  held[kind].set(uuid, kind === "nodes" ? made : row);
  return says(201, held[kind].get(uuid) ?? {});
}

function remove(
  { nodes, ports }: LoadedRows,
  kind: keyof LoadedRows,
  uuid: string,
  row: Body,
): Says {
  if (kind === "nodes") {
    if (row.protected === true) return refuses(403, `Node ${uuid} is protected.`);
    if (row.maintenance !== true) return refuses(409, `Node ${uuid} is active.`);
    nodes.delete(uuid);
    for (const [port, { node_uuid }] of ports) if (node_uuid === uuid) ports.delete(port);
  } else ports.delete(uuid);
  return { status: 204, text: "" };
}

function says(status: number, body: object): Says {
  return { status, text: JSON.stringify(body) };
}

/** An error as Ironic words it: JSON in JSON. */
export function refuses(status: number, faultstring: string): Says {
  return says(status, { error_message: JSON.stringify({ faultcode: "Client", faultstring }) });
}

function removesClean(operation: unknown): boolean {
  return isObject(operation) && operation.op === "remove" && operation.path === "/automated_clean";
}
