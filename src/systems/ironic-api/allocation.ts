import { MigrationError } from "../../lib/error.ts";
import { isObject, type Json, type JsonObject, objectOf } from "../../lib/json.ts";
import type { RunningNode } from "../../model/ironic/adoptable.ts";
import type {
  RecordAsked,
  RecordKeeper,
  ServerRecord,
  Written,
} from "../../model/ironic/manage.ts";
import { type Stand, settled, shown } from "../openstack/settled.ts";
import { readRunning } from "./running.ts";
import type { RestService } from "./service.ts";

/** Server records that are allocations of Ironic, made of nodes that are in use already. */
type Allocations = Pick<
  RecordKeeper,
  "hold" | "record" | "unrecord" | "endMaintenance" | "release"
>;

/**
 * @param mark the key of `extra` that marks a node
 * @param failpoint called around every call that changes something
 */
export function createAllocations(
  service: RestService,
  mark: string,
  failpoint: (point: "rest.before" | "rest.after") => Promise<void>,
): Allocations {
  const tell: RestService["tell"] = async (method, path, body) => {
    await failpoint("rest.before");
    const answer = await service.tell(method, path, body);
    await failpoint("rest.after");
    return answer;
  };
  const at: At = { service, tell, mark, now: (uuid) => readRunning(service, uuid, []) };
  return {
    hold: (node, server) => hold(at, node, server),
    record: (asked, isNew) => record(at, asked, isNew),
    unrecord: (node, server) => unrecord(at, node, server),
    endMaintenance: (node, server) => endMaintenance(at, node, server),
    release: (node, server, traits) => release(at, node, server, traits),
  };
}

/** What every call here needs. */
interface At {
  readonly service: RestService;
  readonly tell: RestService["tell"];
  readonly mark: string;
  readonly now: (node: string) => Promise<RunningNode | null>;
}

async function hold(
  { service, tell, mark, now }: At,
  node: string,
  server: string,
): Promise<Written<RunningNode>> {
  let taken = false;
  let held: RunningNode | null = null;
  const look = async (): Promise<Stand> => {
    held = await now(node);
    if (held === null) return { why: "it is gone" };
    const other = held.extra[mark];
    if (other === undefined || other === server) return other === server ? "made" : "open";
    taken = true;
    return { why: `somebody manages it: extra.${mark} is ${String(other)}` };
  };
  const add = [{ op: "add", path: `/extra/${mark}`, value: server }];
  const path = `/v1/nodes/${node}`;
  // Another's mark may have come in between: the last one stands.
  const why = await shown(service.session, `PATCH of node ${node}`, look, async () => {
    const answer = await tell("PATCH", path, add);
    taken = answer.status === 409;
    return answer;
  });
  return why === null && held !== null ? { now: held } : { why: why ?? "it is gone", taken };
}

/** As Ironic words it, after the node's uuid. @source ironic: common/exception.py, NodeLocked */
const LOCKED = "is locked by host";

async function record(
  { service, tell, now }: At,
  { node, uuid, ...more }: RecordAsked,
  isNew: boolean,
): Promise<Written<ServerRecord | null>> {
  let taken = false;
  let untold = isNew;
  let told: unknown = null;
  const look = async (): Promise<Stand> => {
    if (untold) {
      untold = false;
      return "open";
    }
    const found = await readAllocation(service, uuid);
    if (found?.state === "active" && found.node_uuid === node) return "made";
    if (found?.state === "error") {
      // What failed is an allocation still, and keeps its name.
      await tell("DELETE", `/v1/allocations/${uuid}`);
      return { why: `Ironic does not allocate it: ${found.last_error ?? "no reason given"}` };
    }
    const { instance_uuid = null } = (await now(node)) ?? {};
    if (instance_uuid === null || instance_uuid === uuid) return "open";
    taken = true;
    return { why: `it has instance ${instance_uuid} already` };
  };
  const why = await settled(
    service.session,
    `the allocation of node ${node}`,
    look,
    async () => {
      const answer = await tell("POST", "/v1/allocations", { node, uuid, ...more });
      taken = answer.status === 409;
      told = answer.body;
      return answer;
    },
    // A name that is taken stays so; a lock goes.
    ({ status, fault }) =>
      (status === 409 && !fault.includes(LOCKED)) || (status === 500 && /backfill/i.test(fault)),
  );
  if (why !== null) return { why, taken };
  return { now: isObject(told) && told.uuid === uuid ? recordOf(uuid, told) : null };
}

async function unrecord(at: At, node: string, server: string): Promise<string | null> {
  let why: string | null;
  try {
    why = await deleted(at, node, server);
  } catch (cause) {
    // A machine that keeps its record is left in service; where that breaks too, the first fault says more.
    await endMaintenance(at, node, server).catch(() => null);
    throw cause;
  }
  const still = await endMaintenance(at, node, server);
  const whys = [why, still].filter((one) => one !== null);
  return whys.length === 0 ? null : whys.join("; ");
}

/** Ironic deletes the allocation of an active node only while the node is in maintenance. */
async function deleted(
  { service: { session }, service, tell, now }: At,
  node: string,
  server: string,
): Promise<string | null> {
  const record = await readAllocation(service, server);
  if (record === null) return null;
  if (record.node_uuid === node) {
    const kept = async (): Promise<Stand> => {
      const found = await now(node);
      const may = found === null || found.maintenance || found.provision_state !== "active";
      return may ? "made" : "open";
    };
    const held = await shown(session, `the maintenance of node ${node}`, kept, () =>
      tell("PUT", `/v1/nodes/${node}/maintenance`, { reason: reasonOf(server) }),
    );
    if (held !== null) return held;
  }
  const gone = async (): Promise<Stand> =>
    (await readAllocation(service, server)) === null ? "made" : "open";
  return shown(session, `the end of allocation ${server}`, gone, () =>
    tell("DELETE", `/v1/allocations/${server}`),
  );
}

/** Of our own alone. */
function endMaintenance(
  { service: { session }, tell, now }: At,
  node: string,
  server: string,
): Promise<string | null> {
  const ended = async (): Promise<Stand> =>
    (await now(node))?.maintenance_reason === reasonOf(server) ? "open" : "made";
  return shown(session, `the end of maintenance of node ${node}`, ended, () =>
    tell("DELETE", `/v1/nodes/${node}/maintenance`),
  );
}

async function release(
  { service, tell, mark, now }: At,
  node: string,
  server: string,
  traits: Json | undefined,
): Promise<string | null> {
  let patch: readonly Json[] = [];
  const look = async (): Promise<Stand> => {
    const found = await now(node);
    if (found === null) return "made";
    patch = [
      ...(found.extra[mark] === server ? [{ op: "remove", path: `/extra/${mark}` }] : []),
      ...traitsPatch(found, server, traits),
    ];
    return patch.length === 0 ? "made" : "open";
  };
  return shown(service.session, `PATCH of node ${node}`, look, () =>
    tell("PATCH", `/v1/nodes/${node}`, patch),
  );
}

/** The reason of a maintenance that is ours, for the moment in which an allocation is ended. */
export function reasonOf(server: string): string {
  return `nova2ironic ends allocation ${server}`;
}

/** An allocation of a node in use writes `[]` there: anything else is somebody's, as a node is that he has. */
function traitsPatch(
  { instance_info, instance_uuid }: RunningNode,
  server: string,
  traits: Json | undefined,
): readonly Json[] {
  if (instance_uuid !== null && instance_uuid !== server) return [];
  if (!isEmptied(instance_info, traits)) return [];
  const path = "/instance_info/traits";
  return traits === undefined ? [{ op: "remove", path }] : [{ op: "add", path, value: traits }];
}

/** @param traits as they were before the allocation; undefined: there were none */
export function isEmptied({ traits: now }: JsonObject, traits: Json | undefined): boolean {
  const is = (one: Json | undefined): boolean => Array.isArray(one) && one.length === 0;
  return is(now) && !is(traits);
}

/** @throws MigrationError N2I-E210 to N2I-E212 */
export async function readAllocation(
  service: RestService,
  uuid: string,
): Promise<(ServerRecord & { readonly extra: JsonObject }) | null> {
  const body = await service.ask(`/v1/allocations/${uuid}`);
  if (body === null) return null;
  if (!isObject(body) || body.uuid !== uuid)
    throw new MigrationError("N2I-E212", `${service.session.url} answers for another allocation`);
  return { ...recordOf(uuid, body), extra: objectOf(body.extra) };
}

function recordOf(uuid: string, told: JsonObject): ServerRecord {
  const word = (field: string): string | null => {
    const value = told[field];
    return typeof value === "string" && value !== "" ? value : null;
  };
  return {
    ...{ uuid, name: word("name"), node_uuid: word("node_uuid") },
    ...{ state: word("state") ?? "", last_error: word("last_error") },
    ...{ created_at: word("created_at"), updated_at: word("updated_at") },
  };
}
