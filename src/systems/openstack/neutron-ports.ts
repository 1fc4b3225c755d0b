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

export interface NetworkService {
  readonly url: string;
  /** Existing ports by id. @throws MigrationError N2I-E202, N2I-E210 to N2I-E212 */
  readonly ports: (ids: PortIds) => Promise<NetworkPorts>;
  /**
   * Only if the device is one of `from`. Null, or the reason of the refusal.
   *
   * @throws MigrationError N2I-E210, N2I-E211
   */
  readonly bind: (
    port: string,
    from: readonly PortDevice[],
    to: PortDevice,
  ) => Promise<NotWritten | null>;
  /** All fields of a port, or null. @throws MigrationError N2I-E210 to N2I-E212 */
  readonly whole: (port: string) => Promise<JsonObject | null>;
  /** Only if the device is one of these. Null, or the reason of the refusal. */
  readonly restore: (
    port: string,
    fields: JsonObject,
    devices: readonly string[],
  ) => Promise<string | null>;
  /** The hosts that boot the machines. @throws MigrationError N2I-E202, N2I-E210 to N2I-E212 */
  readonly placed: (ids: ReadonlySet<string>) => Promise<ReadonlyMap<string, PlacedPort>>;
  /**
   * Only if the device is unchanged. Null, or the reason of the refusal.
   *
   * @throws MigrationError N2I-E210, N2I-E211
   */
  readonly place: (port: string, to: PortPlace, device: string) => Promise<string | null>;
  readonly close: () => void;
}

/** @param limit milliseconds per call @throws MigrationError N2I-E106, N2I-E210 to N2I-E212 */
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
 * A 403 is for one port, which may be of another project, or for a login that may change no port.
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

/** Refused ports, without a success, that indicate the login. */
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
        return { why: `port ${id} belongs to ${holder(now.device_owner, device)} now` };
      revision = now.revision_number;
      return Object.entries(fields).every(isAs) ? "made" : "open";
    },
    async () => rights.heard(id, await put(session, id, fields, revision)),
    rights.isPorts,
  );
}

const FIELDS = fieldsOf("id", "mac_address", "device_id", "device_owner");
const PLACE_FIELDS = fieldsOf("id", "device_id", "binding:host_id", "extra_dhcp_opts");
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
        `${session.url} is not a network service: it lists no ports`,
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
    return { why: `port ${id} belongs to ${holder(now.device_owner, now.device_id)}` };
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

function holder(owner: unknown, device: string): string {
  return device === "" ? "no device" : `${String(owner ?? "") || "device"} ${device}`;
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
