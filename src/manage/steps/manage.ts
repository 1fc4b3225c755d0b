import type { WindowPart } from "../../engine/window-part.ts";
import type { JsonObject } from "../../lib/json.ts";
import {
  type ExistingNics,
  MANAGE,
  type ManageRequest,
  type NotWritten,
  type RecordRequest,
  type RunningNode,
  type ServerView,
} from "../../model/ironic/manage.ts";
import { reasonOf } from "../../systems/ironic-api/allocation.ts";
import { inFlight } from "../../systems/ironic-api/pool.ts";
import type { RecordClient } from "../record-client.ts";
import { changedSince, faultsIn } from "../rules/criteria.ts";
import { type Act, bindsOf, type ManageChange, reservationOf, unseen } from "./manage-acts.ts";
import {
  backOf,
  blocked,
  blockedBy,
  forwardOf,
  isBound,
  type ManagePosition,
  portContext,
  unlike,
} from "./manage-positions.ts";

export type ManagePart = WindowPart<ManageChange, ManagePosition>;

/** Machines per batch. */
const SIZE = 1000;

/** Owner of tenant ports, as set by metalsmith without Nova. */
const OWNER = "baremetal:none";

/** @param nics NICs of all nodes; null for a single machine */
export function managePart(
  recordClient: RecordClient,
  most: number,
  nics: ExistingNics | null = null,
): ManagePart {
  const duplicates = nics?.duplicates ?? new Set<string>();
  return {
    ...{ name: MANAGE, size: SIZE },
    async inspect(changes) {
      // A machine that was not started has no known record.
      const pairs = changes.map(
        ({ id, server, acts }) => [id, acts.length === 0 ? null : server] as const,
      );
      const views = await recordClient.readAll(pairs, most, nics?.of ?? null);
      return changes.map((change, at) => forwardOf(change, views[at] ?? NOTHING, duplicates));
    },
    perform(change, position, begin) {
      const { node } = position.view;
      const { id, request } = change;
      if (node === null || request === null)
        throw new Error(`${id} does not exist and cannot be managed`);
      const making = { recordClient, change, request, position, node, begin };
      // Without tenant port and mark, a single call is enough: Ironic creates one record per node, and two PATCH
      // calls would take most of the time.
      return change.acts.length === 0 &&
        position.view.node?.instance_uuid === null &&
        position.view.node.maintenance_reason === null &&
        tenantPorts(position.view).length === 0
        ? recordAlone(making, nics === null)
        : recordMarked(making, duplicates);
    },
  };
}

const NOTHING: ServerView = { node: null, record: null, ports: null };

interface Making {
  readonly recordClient: RecordClient;
  readonly change: ManageChange;
  readonly request: ManageRequest;
  readonly position: ManagePosition;
  readonly node: RunningNode;
  readonly begin: Parameters<ManagePart["perform"]>[2];
}

function refusedBy(now: ServerView, { reason, taken, denied = false }: NotWritten): ManagePosition {
  return blockedBy(now, [{ reason, is: denied ? "denied" : taken ? "taken" : "state" }]);
}

/** @param single reads the node again at once; several nodes are read together by the caller */
async function recordAlone(
  { recordClient, change, request, position, node, begin }: Making,
  single: boolean,
): Promise<ManagePosition> {
  const { id, server } = change;
  const { view } = position;
  await begin(asReserved(change, request, node));
  await begin({ step: "record" });
  const made = await recordClient.record(recordRequest(change, request, node), true);
  if ("reason" in made) return refusedBy(view, made);
  const { traits } = node.instance_info;
  // The record replaces the traits.
  if (Array.isArray(traits) && traits.length > 0) {
    await begin({ step: "release" });
    const reason = await recordClient.release(id, server, traits);
    if (reason !== null) return blocked(view, reason);
  }
  if (!single) return { ...position, view: { ...view, record: made.now }, is: "after" };
  const now = await recordClient.again(view, id, server);
  const against = unlike(change, node, now.node);
  return against.length > 0 ? blockedBy(now, against) : { ...position, view: now, is: "after" };
}

async function recordMarked(
  { recordClient, change, request, position, node: before, begin }: Making,
  duplicates: ReadonlySet<string>,
): Promise<ManagePosition> {
  const { id, server } = change;
  const { view } = position;
  const reservation = reservationOf(change);
  // After the record was requested, the traits are those of the record.
  const emptied = change.acts.some(({ step }) => step === "record");
  const as = (node: RunningNode) =>
    reservation !== undefined && emptied ? reservation : asReserved(change, request, node);
  let reserved = as(before);
  if (before.maintenance_reason === reasonOf(server)) {
    await begin(reserved);
    const reason = await recordClient.endMaintenance(id, server);
    if (reason !== null) return blocked(view, reason);
  }
  if (before.instance_uuid !== server) {
    await begin(reserved);
    const marked = await recordClient.reserve(id, server);
    if ("reason" in marked) return refusedBy(view, marked);
    reserved = as(marked.now);
    await begin(reserved);
    // Compares with the state before the hold.
    const now: RunningNode = { ...marked.now, nics: before.nics };
    const against = [
      ...faultsIn(now, portContext({ ...view, node: now }, duplicates, request.ports), server),
      ...changedSince(before, now),
    ];
    if (against.length > 0) return blockedBy(view, against);
    const to = { device_id: server, device_owner: OWNER };
    for (const port of tenantPorts(view)) {
      const { device_id, device_owner } = port;
      if (device_id === server) continue;
      await begin({ step: "bind", port: port.id, device_id, device_owner });
      const refused = await recordClient.bind(port.id, [{ device_id, device_owner }], to);
      if (refused === null) continue;
      await begin({ step: "unbound", port: port.id });
      return refusedBy(view, refused);
    }
    await begin({ step: "record" });
    const made = await recordClient.record(recordRequest(change, request, now), false);
    if ("reason" in made) return refusedBy(view, made);
  }
  await begin({ step: "release" });
  const reason = await recordClient.release(id, server, reserved.traits);
  if (reason !== null) return blocked(view, reason);
  const now = await recordClient.again(view, id, server);
  const { instance_uuid = null } = now.node ?? {};
  return instance_uuid === server
    ? { ...position, view: now, is: "after" }
    : blocked(view, `instance_uuid is ${instance_uuid ?? "empty"}, expected ${server}`);
}

export function unmanagePart(recordClient: RecordClient, most: number): ManagePart {
  return {
    ...{ name: MANAGE, size: SIZE },
    inspect: (changes) => inFlight(changes, most, (change) => backOf(recordClient, change)),
    async perform(change, position, begin) {
      const { id, server } = change;
      await begin();
      const whys = [await recordClient.unrecord(id, server)];
      // The ports belong to the record while it exists.
      if (whys[0] === null) {
        for (const { port, device_id, device_owner } of bindsOf(change).toReversed())
          if (isBound(position.view, port, server)) {
            const from = [{ device_id: server, device_owner: OWNER }];
            const refused = await recordClient.bind(port, from, { device_id, device_owner });
            whys.push(refused?.reason ?? null);
          }
        const act = reservationOf(change);
        if (act !== undefined) whys.push(await recordClient.release(id, server, act.traits));
      }
      const reasons = [...whys.flatMap((one) => one ?? []), ...foreignPorts(change, position.view)];
      return { ...position, is: reasons.length === 0 ? "after" : "other", reasons };
    },
  };
}

function recordRequest(
  { server }: ManageChange,
  request: ManageRequest,
  { uuid, resource_class }: RunningNode,
): RecordRequest {
  return {
    ...{ uuid: server, name: request.name, node: uuid },
    ...{ resource_class: resource_class ?? "", extra: extraOf(request) },
  };
}

function asReserved(
  { server }: ManageChange,
  { name }: ManageRequest,
  { instance_info: { traits } }: RunningNode,
): Extract<Act, { readonly step: "hold" }> {
  return { step: "hold", server, name, ...(traits !== undefined && { traits }) };
}

function extraOf({ description, availability_zone, metadata, owner }: ManageRequest): JsonObject {
  return {
    nova2ironic: {
      managed: true,
      ...(description !== null && { description }),
      ...(availability_zone !== null && { availability_zone }),
      ...(owner !== undefined && { user_id: owner.user_id, project_id: owner.project_id }),
      ...(Object.keys(metadata).length > 0 && { metadata }),
    },
  };
}

/** Ports that another device now has. */
function foreignPorts(change: ManageChange, view: ServerView): readonly string[] {
  return bindsOf(change).flatMap(({ port, device_id }) => {
    const now = view.ports?.get(port);
    if (now === undefined) return [unseen(port)];
    if ([device_id, change.server].includes(now.device_id)) return [];
    return [`port ${port} belongs to ${now.device_owner || "device"} ${now.device_id} now`];
  });
}

/** Neutron ports of the node's VIFs. */
function tenantPorts({ node, ports }: ServerView) {
  return (node?.nics ?? []).flatMap(({ vif }) => ports?.get(vif ?? "") ?? []);
}
