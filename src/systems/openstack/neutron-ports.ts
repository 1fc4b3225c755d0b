import { MigrationError } from "../../lib/error.ts";
import { isObject, type Json, type JsonObject, objectOf } from "../../lib/json.ts";
import type { NetworkPort, NetworkPorts, PortIds } from "../../model/ironic/adoptable.ts";
import type { NotWritten, PortDevice } from "../../model/ironic/manage.ts";
import type { PortPlace } from "../../model/ironic/port-place.ts";
import type { Cloud } from "./cloud.ts";
import { NETWORK } from "./kinds.ts";
import { type PlacedPort, placed, placedOf } from "./neutron-place.ts";
import { put, whole } from "./neutron-port.ts";
import { type Answer, ask, openSession, type ServiceSession } from "./session.ts";
import { type Stand, shown } from "./settled.ts";

/** Neutron, as far as ports go. */
export interface NetworkService {
  readonly url: string;
  /** Those of these ports that there are, by id. @throws MigrationError N2I-E202, N2I-E210 to N2I-E212 */
  readonly ports: (ids: PortIds) => Promise<NetworkPorts>;
  /**
   * Gives a port to a device, only while one of these has it.
   *
   * @returns null, or why it is refused
   * @throws MigrationError N2I-E210, N2I-E211
   */
  readonly bind: (
    port: string,
    from: readonly PortDevice[],
    to: PortDevice,
  ) => Promise<NotWritten | null>;
  /** A port as Neutron tells it whole; null: there is none. @throws MigrationError N2I-E210 to N2I-E212 */
  readonly whole: (port: string) => Promise<JsonObject | null>;
  /**
   * Writes these fields of a port as they were, only while one of these devices has it.
   *
   * @returns null, or why it is refused
   */
  readonly restore: (
    port: string,
    fields: JsonObject,
    devices: readonly string[],
  ) => Promise<string | null>;
  /** Which hosts boot the machines of these ports, by id. @throws MigrationError N2I-E202, N2I-E210 to N2I-E212 */
  readonly placed: (ids: ReadonlySet<string>) => Promise<ReadonlyMap<string, PlacedPort>>;
  /**
   * Lets another host boot it, only while this device has it; what else it has stays.
   *
   * @returns null, or why it is refused
   * @throws MigrationError N2I-E210, N2I-E211
   */
  readonly place: (port: string, to: PortPlace, device: string) => Promise<string | null>;
  readonly close: () => void;
}

/**
 * Opens Neutron's API.
 *
 * @param limit milliseconds a call may take
 * @throws MigrationError N2I-E106, N2I-E210 to N2I-E212
 */
export async function openNetwork(cloud: Cloud, limit: number): Promise<NetworkService> {
  const session = await openSession(cloud, limit, NETWORK);
  const rights = rightsToPorts();
  return {
    url: session.url,
    async ports(ids) {
      const found = new Map<string, NetworkPort>();
      const put = (port: NetworkPort): void => void found.set(port.id, port);
      await readPorts(session, ids, FIELDS, portOf, put);
      return found;
    },
    bind: (port, from, to) => bind(session, rights, port, from, to),
    whole: (port) => whole(session, port),
    restore: (port, fields, devices) => restore(session, rights, port, fields, devices),
    async placed(ids) {
      const found = new Map<string, PlacedPort>();
      const put = (port: PlacedPort): void => void found.set(port.id, port);
      await readPorts(session, ids, PLACE_FIELDS, placedOf, put);
      return found;
    },
    place: (port, to, device) => placed(session, port, to, device),
    close: session.close,
  };
}

type Rights = ReturnType<typeof rightsToPorts>;

/**
 * What the login was let do. That it may not change a port is that port's fault, which may be another project's; that it
 * may change none of the first few is its own.
 */
function rightsToPorts() {
  let some = false;
  const denied = new Set<string>();
  return {
    heard(id: string, answer: Answer): Answer {
      if (answer.status < 300 && answer.status >= 200) some = true;
      if (answer.status === 403) denied.add(id);
      return answer;
    },
    isPorts: ({ status }: Answer): boolean => status === 403 && (some || denied.size < FEW),
  };
}

/** Ports that are denied, and none that is not, before it is the login's fault. */
const FEW = 10;

async function restore(
  session: ServiceSession,
  rights: Rights,
  id: string,
  fields: JsonObject,
  devices: readonly string[],
): Promise<string | null> {
  let revision: unknown;
  return shown(
    session,
    `PUT of port ${id}`,
    async () => {
      const now = await whole(session, id);
      if (now === null) return { why: `port ${id} is not in Neutron` };
      const isAs = ([name, value]: readonly [string, Json]): boolean =>
        JSON.stringify(now[name] ?? null) === JSON.stringify(value);
      const device = String(now.device_id ?? "");
      if (!devices.includes(device))
        return {
          why: `port ${id} belongs to ${String(now.device_owner) || "device"} ${device || "nobody"} now`,
        };
      revision = now.revision_number;
      return Object.entries(fields).every(isAs) ? "made" : "open";
    },
    async () => rights.heard(id, await put(session, id, fields, revision)),
    rights.isPorts,
  );
}

const FIELDS = fieldsOf("id", "mac_address", "device_id", "device_owner");
const PLACE_FIELDS = fieldsOf("id", "device_id", "binding:host_id", "extra_dhcp_opts");
/** Ports a page. */
const PAGE = 1000;
/** Ids that one line of a request has room for. */
const MOST_IDS = 100;

function fieldsOf(...names: readonly string[]): string {
  return names.map((field) => `&fields=${field}`).join("");
}

/** Few by their ids in one call, many by listing all: never a call a port. */
async function readPorts<T extends { readonly id: string }>(
  session: ServiceSession,
  ids: PortIds,
  fields: string,
  parse: (body: Json) => T | null,
  put: (port: T) => void,
): Promise<void> {
  if (ids.size === 0) return;
  const chosen =
    ids.size > MOST_IDS
      ? ""
      : [...new Set(ids.values())].map((id) => `&id=${encodeURIComponent(id)}`).join("");
  for (let marker = ""; ; ) {
    const body = await ask(session, `/v2.0/ports?limit=${PAGE}${fields}${chosen}${marker}`);
    if (!isObject(body) || !Array.isArray(body.ports))
      throw new MigrationError(
        "N2I-E202",
        `${session.url} is no network service: it lists no ports`,
        { fix: "Compare the network endpoint of the catalog." },
      );
    const page = (body.ports as readonly Json[]).map(parse);
    for (const port of page) if (port !== null && ids.has(port.id)) put(port);
    const last = objectOf(body.ports.at(-1)).id;
    if (body.ports_links === undefined || last === undefined || !hasNext(body.ports_links)) return;
    marker = `&marker=${encodeURIComponent(String(last))}`;
  }
}

async function bind(
  session: ServiceSession,
  rights: Rights,
  id: string,
  from: readonly PortDevice[],
  { device_id, device_owner }: PortDevice,
): Promise<NotWritten | null> {
  let taken = false;
  const path = `/v2.0/ports/${encodeURIComponent(id)}`;
  let revision: unknown;
  const look = async (): Promise<Stand> => {
    const { port } = objectOf(await ask(session, path));
    const now = portOf(port ?? null);
    if (now === null) return { why: `port ${id} is not in Neutron` };
    revision = objectOf(port).revision_number;
    const is = (one: PortDevice): boolean =>
      one.device_id === now.device_id && one.device_owner === now.device_owner;
    if (is({ device_id, device_owner })) return "made";
    if (from.some(is)) return "open";
    taken = true;
    const { device_owner: owner, device_id: device } = now;
    return { why: `port ${id} belongs to ${owner || "device"} ${device || "nobody"}` };
  };
  let denied = false;
  const call = async (): Promise<Answer> => {
    const answer = await put(session, id, { device_id, device_owner }, revision);
    denied = answer.status === 403;
    return rights.heard(id, answer);
  };
  const why = await shown(session, `PUT of port ${id}`, look, call, rights.isPorts);
  return why === null ? null : { why, taken, denied };
}

function hasNext(links: unknown): boolean {
  return Array.isArray(links) && links.some((link) => isObject(link) && link.rel === "next");
}

function portOf(body: Json): NetworkPort | null {
  if (!isObject(body) || typeof body.id !== "string") return null;
  const text = (field: string): string => {
    const value = body[field];
    return typeof value === "string" ? value : "";
  };
  return {
    id: body.id,
    mac_address: text("mac_address").toLowerCase(),
    ...{ device_id: text("device_id"), device_owner: text("device_owner") },
  };
}
