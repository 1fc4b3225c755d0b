import { MigrationError } from "../../lib/error.ts";
import { isObject, type Json, type JsonObject, objectOf } from "../../lib/json.ts";
import type {
  RecordRequest,
  RunningNode,
  ServerRecord,
  Written,
} from "../../model/ironic/manage.ts";
import type { NodeChange } from "../../model/ironic/rest.ts";
import { type CallState, settledOnce } from "../openstack/settled.ts";
import { lowerCaseText } from "./body.ts";
import { createNodeClient, type Failpoint, type NodeClient, nodeCalls } from "./node.ts";
import { readRunning } from "./running.ts";
import type { RestService } from "./service.ts";

/** @param mark the key of `extra` that marks a node */
export function createAllocations(service: RestService, mark: string, failpoint: Failpoint) {
  const client = createNodeClient(service, failpoint, (node) => readRunning(service, node, []));
  const { changeChecked } = client;
  const endMaintenance = (node: string, server: string) =>
    changeChecked(node, "the end of maintenance", {
      is: (now) => now?.maintenance_reason !== reasonOf(server),
      call: () => nodeCalls.endMaintenance(node),
    });
  return {
    /** Marks the node as ours, and reads it again. */
    async reserve(node: string, server: string): Promise<Written<RunningNode>> {
      let taken = false;
      let reserved: RunningNode | null = null;
      // Another mark may have been written in between. The last write wins.
      const reason = await changeChecked(node, "PATCH", {
        must(now) {
          reserved = now;
          return now === null ? "it is gone" : null;
        },
        is: (now) => now?.extra[mark] === server,
        may(now) {
          const other = now?.extra[mark];
          if (other === undefined) return null;
          taken = true;
          return `it is already managed: extra.${mark} is ${String(other)}`;
        },
        call: () => nodeCalls.patch(node, [{ path: ["extra", mark], after: server }]),
        answered({ status }) {
          taken = status === 409;
        },
      });
      return reason === null && reserved !== null
        ? { now: reserved }
        : { reason: reason ?? "it is gone", taken };
    },
    /** Removes the mark, and restores `instance_info.traits` if only the record changed them. */
    release(node: string, server: string, traits: Json | undefined) {
      const unmarked: NodeChange = { path: ["extra", mark], after: undefined };
      const open = (now: RunningNode | null): readonly NodeChange[] => [
        ...(now?.extra[mark] === server ? [unmarked] : []),
        ...(now === null ? [] : traitsChange(now, server, traits)),
      ];
      return changeChecked(node, "PATCH", {
        is: (now) => open(now).length === 0,
        call: (now) => nodeCalls.patch(node, open(now)),
      });
    },
    endMaintenance,
    /** The record is null if it was created without an answer. */
    record: (request: RecordRequest, isNew: boolean) => record(service, client, request, isNew),
    async unrecord(node: string, server: string): Promise<string | null> {
      let reason: string | null;
      try {
        reason = await deleted(service, client, node, server);
      } catch (cause) {
        // A machine with a record must stay in service. The first fault is reported.
        await endMaintenance(node, server).catch(() => null);
        throw cause;
      }
      const failure = await endMaintenance(node, server);
      const whys = [reason, failure].filter((one) => one !== null);
      return whys.length === 0 ? null : whys.join("; ");
    },
  };
}

type Client = NodeClient<RunningNode | null>;

/** Ironic's message, after the node's uuid. @source ironic: common/exception.py, NodeLocked */
const LOCKED = "is locked by host";

async function record(
  service: RestService,
  client: Client,
  { node, uuid, ...more }: RecordRequest,
  isNew: boolean,
): Promise<Written<ServerRecord | null>> {
  let taken = false;
  let isFirst = isNew;
  let response: unknown = null;
  const read = async (): Promise<CallState> => {
    if (isFirst) {
      isFirst = false;
      return "open";
    }
    const found = await readAllocation(service, uuid);
    if (found?.state === "active" && found.node_uuid === node) return "made";
    if (found?.state === "error") {
      // A failed allocation still exists and keeps its name.
      await client.send(nodeCalls.deallocate(uuid));
      return { reason: `Ironic does not allocate it: ${found.last_error ?? "no reason given"}` };
    }
    const { instance_uuid = null } = (await client.read(node)) ?? {};
    if (instance_uuid === null || instance_uuid === uuid) return "open";
    taken = true;
    return { reason: `it has instance ${instance_uuid} already` };
  };
  const reason = await client.make({
    ...{ what: `the allocation of node ${node}`, on: [node], read },
    call: () => nodeCalls.allocate({ node, uuid, ...more }),
    answered({ status, body }) {
      taken = status === 409;
      response = body;
    },
    // A name in use is final. A lock is temporary.
    isFinal: ({ status, fault }) =>
      (status === 409 && !fault.includes(LOCKED)) || (status === 500 && /backfill/i.test(fault)),
  });
  if (reason !== null) return { reason, taken };
  return { now: isObject(response) && response.uuid === uuid ? recordOf(uuid, response) : null };
}

/** Ironic deletes the allocation of an active node only in maintenance. */
async function deleted(service: RestService, client: Client, node: string, server: string) {
  const record = await readAllocation(service, server);
  if (record === null) return null;
  if (record.node_uuid === node) {
    const refusal = await client.changeChecked(node, "the maintenance", {
      is: (now) => now === null || now.maintenance || now.provision_state !== "active",
      call: () => nodeCalls.maintenance(node, reasonOf(server)),
    });
    if (refusal !== null) return refusal;
  }
  const end = {
    ...{ what: `the end of allocation ${server}`, on: [node] },
    read: async () => ((await readAllocation(service, server)) === null ? "made" : "open"),
    call: () => nodeCalls.deallocate(server),
  } as const;
  return client.make(end, settledOnce);
}

export function reasonOf(server: string): string {
  return `nova2ironic ends allocation ${server}`;
}

/**
 * Allocating a node in use writes `[]`. Another value, or another instance, is not ours to change.
 */
function traitsChange(
  { instance_info, instance_uuid }: RunningNode,
  server: string,
  traits: Json | undefined,
): readonly NodeChange[] {
  const hasOtherServer = instance_uuid !== null && instance_uuid !== server;
  if (hasOtherServer || !isEmptied(instance_info, traits)) return [];
  return [{ path: ["instance_info", "traits"], after: traits }];
}

/** @param traits before the allocation, if any */
export function isEmptied({ traits: now }: JsonObject, traits: Json | undefined): boolean {
  const is = (one: Json | undefined): boolean => Array.isArray(one) && one.length === 0;
  return is(now) && !is(traits);
}

/** @throws MigrationError N2I-E210 to N2I-E212 */
export async function readAllocation(service: RestService, uuid: string) {
  const body = await service.ask(`/v1/allocations/${uuid}`);
  if (body === null) return null;
  if (!isObject(body) || body.uuid !== uuid)
    throw new MigrationError("N2I-E212", `${service.session.url} returned another allocation`);
  return { ...recordOf(uuid, body), extra: objectOf(body.extra) };
}

function recordOf(uuid: string, allocation: JsonObject): ServerRecord {
  const textOf = (field: string): string | null => lowerCaseText(allocation[field]);
  return {
    ...{ uuid, name: textOf("name"), node_uuid: textOf("node_uuid") },
    ...{ state: textOf("state") ?? "", last_error: textOf("last_error") },
    ...{ created_at: textOf("created_at"), updated_at: textOf("updated_at") },
  };
}
