import { MigrationError } from "../../lib/error.ts";
import { isObject, type Json, type JsonObject, objectOf } from "../../lib/json.ts";
import type { NetworkPort, NotWritten, PortDevice, PortIds } from "../../model/ironic/manage.ts";
import { BOOT_OPTIONS, type PortBinding, sameBinding } from "../../model/ironic/port-binding.ts";
import type { Cloud } from "./cloud.ts";
import { NETWORK } from "./kinds.ts";
import { type Answer, ask, incomplete, openSession, type ServiceSession } from "./session.ts";
import { type CallState, settledOnce } from "./settled.ts";

/**
 * Each changing call resolves to null or the reason of the refusal.
 *
 * @throws MigrationError N2I-E202, N2I-E210 to N2I-E212
 */
export type NetworkService = Awaited<ReturnType<typeof openNetwork>>;

/** @param limit milliseconds per call @throws MigrationError N2I-E106, N2I-E210 to N2I-E212 */
export async function openNetwork(cloud: Cloud, limit: number) {
  const session = await openSession(cloud, limit, NETWORK);
  const rights = rightsToPorts();
  return {
    close: session.close,
    /** Existing ports by id. */
    ports: (ids: PortIds) => readPorts(session, ids, FIELDS, portOf),
    /** The hosts that boot the machines. */
    placed: (ids: ReadonlySet<string>) => readPorts(session, ids, BINDING_FIELDS, placedOf),
    details: (port: string) => readDetails(session, port),
    /** Only if the device is one of `from`. */
    bind: (port: string, from: readonly PortDevice[], to: PortDevice) =>
      bind(session, rights, port, from, to),
    /** Only if the device is one of these. */
    restore: (port: string, fields: JsonObject, devices: readonly string[]) =>
      restore(session, rights, port, fields, devices),
    /** Only if the device is unchanged. */
    rebind: (port: string, to: PortBinding, device: string) => rebind(session, port, to, device),
  };
}

type Rights = ReturnType<typeof rightsToPorts>;

/**
 * A 403 is for one port, which may be of another project, or for a login that may change no port.
 */
function rightsToPorts() {
  let some = false;
  const denied = new Set<string>();
  return {
    heard(id: string, answer: Answer): void {
      if (answer.status < 300 && answer.status >= 200) some = true;
      if (answer.status === 403) denied.add(id);
    },
    isPorts: ({ status }: Answer): boolean => status === 403 && (some || denied.size < FEW),
  };
}

/** Refused ports, without a success, that indicate the login. */
const FEW = 10;

async function readDetails(session: ServiceSession, id: string): Promise<JsonObject | null> {
  const body = await ask(session, pathOf(id));
  if (body === null) return null;
  const { port } = objectOf(body);
  if (isObject(port)) return port;
  throw incomplete(session, `/v2.0/ports/${id}`, "the port");
}

function pathOf(id: string): string {
  return `/v2.0/ports/${encodeURIComponent(id)}`;
}

interface PortChange {
  readonly fields: JsonObject;
  readonly stateOf: (now: JsonObject) => CallState;
  readonly answered?: (answer: Answer) => void;
  readonly isFinal?: (answer: Answer) => boolean;
}

/** Neutron refuses the PUT if the port changed since it was read. */
function change(
  session: ServiceSession,
  id: string,
  { fields: port, stateOf, answered, isFinal }: PortChange,
): Promise<string | null> {
  let revision: unknown;
  const read = async (): Promise<CallState> => {
    const now = await readDetails(session, id);
    if (now === null) return { reason: `port ${id} is not in Neutron` };
    revision = now.revision_number;
    return stateOf(now);
  };
  const put = async (): Promise<Answer> => {
    const hasRevision = typeof revision === "number";
    const fields = hasRevision ? { "If-Match": `revision_number=${revision}` } : {};
    const answer = await session.call({ method: "PUT", path: pathOf(id), body: { port }, fields });
    answered?.(answer);
    return answer.status === 412 ? { ...answer, status: 409 } : answer;
  };
  return settledOnce(session, `PUT of port ${id}`, read, put, isFinal);
}

function restore(
  session: ServiceSession,
  rights: Rights,
  id: string,
  fields: JsonObject,
  devices: readonly string[],
): Promise<string | null> {
  return change(session, id, {
    ...{ fields, isFinal: rights.isPorts, answered: (answer) => rights.heard(id, answer) },
    stateOf(now) {
      const { device_id, device_owner } = deviceOf(now);
      if (!devices.includes(device_id))
        return { reason: `port ${id} belongs to ${holder(device_owner, device_id)} now` };
      const isAs = ([name, value]: readonly [string, Json]): boolean =>
        JSON.stringify(now[name] ?? null) === JSON.stringify(value);
      return Object.entries(fields).every(isAs) ? "made" : "open";
    },
  });
}

async function bind(
  session: ServiceSession,
  rights: Rights,
  id: string,
  from: readonly PortDevice[],
  { device_id, device_owner }: PortDevice,
): Promise<NotWritten | null> {
  let [taken, denied] = [false, false];
  const reason = await change(session, id, {
    ...{ fields: { device_id, device_owner }, isFinal: rights.isPorts },
    stateOf(port) {
      const now = deviceOf(port);
      const is = (one: PortDevice): boolean =>
        one.device_id === now.device_id && one.device_owner === now.device_owner;
      if (is({ device_id, device_owner })) return "made";
      if (from.some(is)) return "open";
      taken = true;
      return { reason: `port ${id} belongs to ${holder(now.device_owner, now.device_id)}` };
    },
    answered(answer) {
      denied = answer.status === 403;
      rights.heard(id, answer);
    },
  });
  return reason === null ? null : { reason, taken, denied };
}

function holder(owner: string, device: string): string {
  return device === "" ? "no device" : `${owner || "device"} ${device}`;
}

/** @source Neutron's API: a null value removes an option, unnamed options stay */
function rebind(session: ServiceSession, id: string, to: PortBinding, device: string) {
  const options = BOOT_OPTIONS.map((opt_name) => ({
    ...{ opt_name, opt_value: to.options[opt_name] ?? null },
  }));
  return change(session, id, {
    fields: { "binding:host_id": to.host, extra_dhcp_opts: options },
    stateOf(port) {
      const now = placedOf(port);
      if (now === null) return { reason: `binding:host_id of port ${id} is not visible` };
      if (now.device_id !== device)
        return { reason: `port ${id} now belongs to ${now.device_id || "no device"}` };
      return sameBinding(now, to) ? "made" : "open";
    },
  });
}

const FIELDS = fieldsOf("id", "mac_address", "device_id", "device_owner");
const BINDING_FIELDS = fieldsOf("id", "device_id", "binding:host_id", "extra_dhcp_opts");
const PAGE = 1000;
/** Ids that fit into a request line. */
const MOST_IDS = 100;

function fieldsOf(...names: readonly string[]): string {
  return names.map((field) => `&fields=${field}`).join("");
}

/** Few ports by id in one call, many by listing all. */
async function readPorts<T extends { readonly id: string }>(
  session: ServiceSession,
  ids: PortIds,
  fields: string,
  parse: (body: Json) => T | null,
): Promise<ReadonlyMap<string, T>> {
  const found = new Map<string, T>();
  if (ids.size === 0) return found;
  const chosen =
    ids.size > MOST_IDS
      ? ""
      : [...new Set(ids.values())].map((id) => `&id=${encodeURIComponent(id)}`).join("");
  for (let marker = ""; ; ) {
    const body = await ask(session, `/v2.0/ports?limit=${PAGE}${fields}${chosen}${marker}`);
    if (!isObject(body) || !Array.isArray(body.ports))
      throw new MigrationError(
        "N2I-E202",
        `${session.url} is not a network service: it does not list ports`,
        { fix: "Check the network endpoint in the catalog." },
      );
    const page = (body.ports as readonly Json[]).map(parse);
    for (const port of page) if (port !== null && ids.has(port.id)) found.set(port.id, port);
    const last = objectOf(body.ports.at(-1)).id;
    const links = Array.isArray(body.ports_links) ? body.ports_links : [];
    if (last === undefined || !links.some((link) => objectOf(link).rel === "next")) return found;
    marker = `&marker=${encodeURIComponent(String(last))}`;
  }
}

function deviceOf(port: JsonObject): PortDevice {
  const text = (field: string): string => String(port[field] ?? "");
  return { device_id: text("device_id"), device_owner: text("device_owner") };
}

function portOf(body: Json): NetworkPort | null {
  if (!isObject(body) || typeof body.id !== "string") return null;
  const mac_address = String(body.mac_address ?? "").toLowerCase();
  return { id: body.id, mac_address, ...deviceOf(body) };
}

export type PlacedPort = NonNullable<ReturnType<typeof placedOf>>;

/** @returns null without a port, or if this login may not see its host */
function placedOf(port: Json) {
  if (!isObject(port) || typeof port.id !== "string") return null;
  if (typeof port["binding:host_id"] !== "string") return null;
  const dhcpOptions = new Map(
    (Array.isArray(port.extra_dhcp_opts) ? port.extra_dhcp_opts : [])
      .filter(isObject)
      .map((one) => [
        String(one.opt_name),
        // IPv6 options, which nova-baremetal never sets, are skipped.
        String(one.ip_version ?? 4) === "4" ? String(one.opt_value) : null,
      ]),
  );
  return {
    ...{ id: port.id, device_id: String(port.device_id ?? "") },
    host: port["binding:host_id"],
    options: Object.fromEntries(BOOT_OPTIONS.map((name) => [name, dhcpOptions.get(name) ?? null])),
  };
}
