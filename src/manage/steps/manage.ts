import type { WindowPart } from "../../engine/window-part.ts";
import type { JsonObject } from "../../lib/json.ts";
import type { ExistingNics, RunningNode } from "../../model/ironic/adoptable.ts";
import {
  MANAGE,
  type ManageRequest,
  type NotWritten,
  type RecordClient,
  type RecordRequest,
  type ServerView,
} from "../../model/ironic/manage.ts";
import { reasonOf } from "../../systems/ironic-api/allocation.ts";
import { inFlight } from "../../systems/ironic-api/pool.ts";
import { changedSince, objections } from "../rules/criteria.ts";
import { type Act, bindsOf, type ManageChange, reservationOf, unseen } from "./manage-acts.ts";
import {
  backOf,
  forwardOf,
  isBound,
  left,
  type ManagePosition,
  portContext,
  stays,
  unlike,
} from "./manage-positions.ts";

export type ManagePart = WindowPart<ManageChange, ManagePosition>;

/** Machines per batch. */
const SIZE = 1000;

/** Owner of tenant ports, as set by metalsmith without Nova. */
const OWNER = "baremetal:none";

/** @param cards NICs of all nodes; null for a single machine */
export function managePart(
  recordClient: RecordClient,
  most: number,
  cards: ExistingNics | null = null,
): ManagePart {
  const twice = cards?.twice ?? new Set<string>();
  return {
    ...{ name: MANAGE, size: SIZE },
    async inspect(changes) {
      // A machine that was not started has no known record.
      const begun = changes.map(
        ({ id, server, acts }) => [id, acts.length === 0 ? null : server] as const,
      );
      const seen = await recordClient.lookAll(begun, most, cards?.of ?? null);
      return changes.map((change, at) => forwardOf(change, seen[at] ?? NOTHING, twice));
    },
    perform(change, position, begin) {
      const { node } = position.seen;
      const { id, asked } = change;
      if (node === null || asked === null)
        throw new Error(`${id} does not exist and cannot be managed`);
      const making = { recordClient, change, asked, position, node, begin };
      return isSingleCall(change, position.seen)
        ? recordAlone(making, cards === null)
        : recordMarked(making, twice);
    },
  };
}

const NOTHING: ServerView = { node: null, record: null, ports: null };

interface Making {
  readonly recordClient: RecordClient;
  readonly change: ManageChange;
  readonly asked: ManageRequest;
  readonly position: ManagePosition;
  readonly node: RunningNode;
  readonly begin: Parameters<ManagePart["perform"]>[2];
}

function refusedBy(seen: ServerView, { why, taken, denied = false }: NotWritten): ManagePosition {
  return left(seen, [{ why, is: denied ? "denied" : taken ? "taken" : "state" }]);
}

/** @param single reads the node again at once; several nodes are read together by the caller */
async function recordAlone(
  { recordClient, change, asked, position, node, begin }: Making,
  single: boolean,
): Promise<ManagePosition> {
  const { id, server } = change;
  const { seen } = position;
  await begin(holding(change, asked, node));
  await begin({ step: "record" });
  const made = await recordClient.record(recordRequest(change, asked, node), true);
  if ("why" in made) return refusedBy(seen, made);
  const { traits } = node.instance_info;
  // The record replaces them.
  if (Array.isArray(traits) && traits.length > 0) {
    await begin({ step: "release" });
    const why = await recordClient.release(id, server, traits);
    if (why !== null) return stays(seen, why);
  }
  if (!single) return { ...position, seen: { ...seen, record: made.now }, is: "after" };
  const now = await recordClient.again(seen, id, server);
  const against = unlike(change, node, now.node);
  return against.length > 0 ? left(now, against) : { ...position, seen: now, is: "after" };
}

async function recordMarked(
  { recordClient, change, asked, position, node: before, begin }: Making,
  twice: ReadonlySet<string>,
): Promise<ManagePosition> {
  const { id, server } = change;
  const { seen } = position;
  const known = reservationOf(change);
  // After the record was requested, the traits are those of the record.
  const emptied = change.acts.some(({ step }) => step === "record");
  const as = (node: RunningNode) =>
    known !== undefined && emptied ? known : holding(change, asked, node);
  let held = as(before);
  if (before.maintenance_reason === reasonOf(server)) {
    await begin(held);
    const why = await recordClient.endMaintenance(id, server);
    if (why !== null) return stays(seen, why);
  }
  if (before.instance_uuid !== server) {
    await begin(held);
    const marked = await recordClient.hold(id, server);
    if ("why" in marked) return refusedBy(seen, marked);
    held = as(marked.now);
    await begin(held);
    // Compares with the state before the hold.
    const now: RunningNode = { ...marked.now, nics: before.nics };
    const against = [
      ...objections(now, portContext({ ...seen, node: now }, twice, asked.ports), server),
      ...changedSince(before, now),
    ];
    if (against.length > 0) return left(seen, against);
    const to = { device_id: server, device_owner: OWNER };
    for (const port of tenantPorts(seen)) {
      const { device_id, device_owner } = port;
      if (device_id === server) continue;
      await begin({ step: "bind", port: port.id, device_id, device_owner });
      const refused = await recordClient.bind(port.id, [{ device_id, device_owner }], to);
      if (refused === null) continue;
      await begin({ step: "unbound", port: port.id });
      return refusedBy(seen, refused);
    }
    await begin({ step: "record" });
    const made = await recordClient.record(recordRequest(change, asked, now), false);
    if ("why" in made) return refusedBy(seen, made);
  }
  await begin({ step: "release" });
  const why = await recordClient.release(id, server, held.traits);
  if (why !== null) return stays(seen, why);
  const now = await recordClient.again(seen, id, server);
  const { instance_uuid = null } = now.node ?? {};
  return instance_uuid === server
    ? { ...position, seen: now, is: "after" }
    : stays(seen, `instance_uuid is ${instance_uuid ?? "empty"}, expected ${server}`);
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
          if (isBound(position.seen, port, server)) {
            const from = [{ device_id: server, device_owner: OWNER }];
            const refused = await recordClient.bind(port, from, { device_id, device_owner });
            whys.push(refused?.why ?? null);
          }
        const held = reservationOf(change);
        if (held !== undefined) whys.push(await recordClient.release(id, server, held.traits));
      }
      const why = [...whys.flatMap((one) => one ?? []), ...strangeOf(change, position.seen)];
      return { ...position, is: why.length === 0 ? "after" : "other", why };
    },
  };
}

/**
 * Without tenant port and mark, a single call is enough: Ironic creates one record per node, and
 * two PATCH calls would take most of the time.
 */
function isSingleCall({ acts }: ManageChange, seen: ServerView): boolean {
  return (
    acts.length === 0 &&
    seen.node?.instance_uuid === null &&
    seen.node.maintenance_reason === null &&
    tenantPorts(seen).length === 0
  );
}

function recordRequest(
  { server }: ManageChange,
  asked: ManageRequest,
  { uuid, resource_class }: RunningNode,
): RecordRequest {
  return {
    ...{ uuid: server, name: asked.name, node: uuid },
    ...{ resource_class: resource_class ?? "", extra: extraOf(asked) },
  };
}

function holding(
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

/** Ports that another device has since. */
function strangeOf(change: ManageChange, seen: ServerView): readonly string[] {
  return bindsOf(change).flatMap(({ port, device_id }) => {
    const now = seen.ports?.get(port);
    if (now === undefined) return [unseen(port)];
    if ([device_id, change.server].includes(now.device_id)) return [];
    return [`port ${port} belongs to ${now.device_owner || "device"} ${now.device_id} now`];
  });
}

/** Neutron ports of its VIFs. */
function tenantPorts({ node, ports }: ServerView) {
  return (node?.nics ?? []).flatMap(({ vif }) => ports?.get(vif ?? "") ?? []);
}
