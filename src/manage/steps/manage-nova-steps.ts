import { orNull } from "../../lib/error.ts";
import type { JsonObject } from "../../lib/json.ts";
import {
  changedSince,
  FAKE,
  harmless,
  imageOf,
  notAsBefore,
} from "../../model/ironic/fake-hardware.ts";
import { infoChanges } from "../../systems/ironic-api/fake-hardware.ts";
import type { NovaClients } from "../nova-clients.ts";
import { hasSecrets } from "../rules/nova.ts";
import {
  type Act,
  bindsOf,
  isHanded,
  isMade,
  isPorted,
  type ManageChange,
  type PlainStep,
  recordOf,
} from "./manage-acts.ts";
import {
  anothers,
  create,
  isAsMachine,
  madeWith,
  maintenanceFor,
  marked,
  offered,
  otherPorts,
  type ServerMaking,
  statusFor,
} from "./manage-nova-create.ts";
import { portRestored, portsFreed, requiresBinding } from "./manage-nova-ports.ts";

interface ServerStep {
  /** Its name in the journal. */
  readonly step: Act["step"];
  /** Repeatable. Returns null, or the reason of a failure. */
  readonly make: (at: ServerMaking) => Promise<string | null>;
}

export const FORWARD: readonly ServerStep[] = [
  { step: "hold", make: reserve },
  { step: "bind", make: bind },
  { step: "fake", make: fake },
  plain("free", ({ clients: { hardware }, id }) => hardware.apply(id, "deleted", foreignRecord)),
  plain("state", ({ clients: { hardware }, id, before }) =>
    hardware.power(id, String(before.power_state)),
  ),
  { step: "record", make: record },
  plain("power", turn),
  plain("swap", swap),
  plain("release", release),
];

function plain(step: PlainStep, make: ServerStep["make"]): ServerStep {
  return {
    step,
    make: async (at) => {
      await at.begin({ step });
      return make(at);
    },
  };
}

async function record(at: ServerMaking): Promise<string | null> {
  const other = otherPorts(at);
  if (other !== null) return other;
  const isNew = !at.acts.some(({ step }) => step === "record");
  await at.begin({ step: "record" });
  return (await offered(at, isNew)) ?? at.clients.alone((passed) => create(at, isNew, passed));
}

export function foreignRecord({
  instance_uuid: instance = null,
  allocation_uuid: allocation = null,
}: JsonObject) {
  const record = instance ?? allocation;
  return record === null ? null : `it has instance ${String(record)}, not created by this run`;
}

async function reserve(at: ServerMaking): Promise<string | null> {
  const { clients, id, server, request } = at;
  const image = imageOf(await clients.hardware.read(id));
  if (!marked(at, at.view)) {
    const secret = hasSecrets(image);
    if (secret !== null) return secret;
    at.before = image;
    await at.begin({ step: "hold", server, name: request.name, node: image, ...madeWith(at) });
  }
  const reserved = await clients.recordClient.reserve(id, server);
  if ("reason" in reserved) return reserved.reason;
  const reason = await clients.hardware.maintain(id, maintenanceFor(server));
  if (reason !== null) return reason;
  // Compares with the state before the hold.
  const now = await clients.hardware.read(id);
  const other = [...changedSince(at.before, now), ...infoChanges(at.before, now, true)];
  if (other.length > 0) return `it changed in the meantime: ${other.join(", ")}`;
  return changed(at);
}

/** Why the machine can no longer be managed, or null. Ignores this run's maintenance. */
async function changed(at: ServerMaking): Promise<string | null> {
  const view = await at.clients.read(at);
  const node = view.node && { ...view.node, maintenance: false, maintenance_reason: null };
  const against = await at.clients.rejections({ ...view, node }, at.server, at.duplicates);
  return against.length === 0 ? null : `it changed in the meantime: ${against.join("; ")}`;
}

async function bind(at: ServerMaking): Promise<string | null> {
  const ids = at.clients.portsOf(at.view);
  const binds = bindsOf(at);
  const missing = binds.filter(({ port }) => !ids.includes(port)).map(({ port }) => port);
  if (missing.length > 0)
    return `it was started with port ${missing.join(", ")}: use the same ports, or roll it back`;
  const against = binds.length > 0 ? await changed(at) : null;
  return against ?? portsFreed(at, ids, binds);
}

/** If a run ended before this step, later changes of the machine must be kept. */
async function fake({ clients, id, server, before, begin }: ServerMaking): Promise<string | null> {
  const now = await clients.hardware.read(id);
  if (now.driver !== FAKE) {
    const state = String(now.provision_state);
    const other = [
      ...changedSince(before, now),
      ...infoChanges(before, now, true),
      ...[foreignRecord(now) ?? []].flat(),
      ...(state === "active" ? [] : [`it is ${state}`]),
    ];
    if (other.length > 0) return `it changed in the meantime: ${other.join(", ")}`;
  }
  await begin({ step: "fake" });
  return clients.hardware.fake(id, maintenanceFor(server), before);
}

/**
 * Sets the server's power state. If it differs from the machine's, Nova stops and starts the server
 * on fake hardware, so that its power sync has processed earlier states.
 */
async function turn(at: ServerMaking): Promise<string | null> {
  const { clients, id, before } = at;
  const uuid = recordOf(at);
  const may = async () => harmless(await clients.hardware.read(id));
  if (at.isPowerSynced === true || (await isSynced(at, uuid))) return null;
  const stopped = await clients.servers.turn(uuid, "SHUTOFF", may);
  if (stopped !== null) return stopped;
  const started =
    statusFor(before) === "ACTIVE" ? await clients.servers.turn(uuid, "ACTIVE", may) : null;
  return started ?? clients.hardware.power(id, String(before.power_state));
}

async function isSynced({ clients, id, before }: ServerMaking, uuid: string): Promise<boolean> {
  const now = await clients.servers.read(uuid);
  if (now === null || now.task !== null) return false;
  return isAsMachine(before, await clients.hardware.read(id), now.status);
}

async function swap(at: ServerMaking): Promise<string | null> {
  const { clients, id, server, before } = at;
  const { hardware } = clients;
  const reason = maintenanceFor(server);
  const maintenanceFault = await hardware.maintain(id, reason);
  if (maintenanceFault !== null) return maintenanceFault;
  // The user may have requested changes that would reach the machine from now on.
  const may = (now: JsonObject) => reasonForeign(at, now);
  const refusal = await hardware.swap(id, before, { reason, exact: false, may });
  return refusal === null ? null : fakeAgain(at, refusal);
}

async function reasonForeign(at: ServerMaking, now: JsonObject) {
  const { clients, before, isPowerSynced } = at;
  const uuid = recordOf(at);
  if (now.instance_uuid !== uuid) return `instance_uuid is ${String(now.instance_uuid)}`;
  if (now.provision_state !== "active") return `it is ${String(now.provision_state)}, not active`;
  if (now.power_state !== before.power_state)
    return `power_state is ${String(now.power_state)}, and was ${String(before.power_state)}`;
  // An untouched server is still as built. This check takes a quarter of the time.
  if (isPowerSynced === true && (await clients.servers.isUntouched(uuid))) return null;
  const server = await clients.servers.read(uuid);
  if (server?.status === statusFor(before) && server.task === null) return null;
  return `server ${uuid} is ${server?.status ?? "gone"}, ${server?.task ?? "nothing under way"}`;
}

/** Keeps its own hardware if the user has changed its power. */
export async function fakeAgain(
  at: Pick<ServerMaking, "clients" | "id" | "server" | "acts" | "before" | "begin">,
  reason: string,
): Promise<string> {
  const { clients, id, server, before } = at;
  const failure = await clients.hardware.fake(id, maintenanceFor(server), before);
  if (failure !== null)
    return `${reason}; ${failure}: it keeps its own hardware${await novaWould(clients, at)}`;
  if (isHanded(at)) await at.begin({ step: "unhanded" });
  return `${reason}; it stays on fake hardware`;
}

/**
 * Nova stops a server again that it has recorded as stopped, even in maintenance.
 *
 * @source nova 26: compute/manager.py, _sync_instance_power_state
 */
export async function novaWould(
  { hardware, servers }: Pick<NovaClients, "hardware" | "servers">,
  change: Pick<ManageChange, "id" | "server" | "acts">,
): Promise<string> {
  const uuid = recordOf(change);
  if (!isMade(change)) return "";
  const read = async () => {
    const { power_state } = await hardware.read(change.id);
    return { isOn: power_state === "power on", novaRecord: await servers.read(uuid) };
  };
  // An error here must not hide the reason of the failure.
  const state = await orNull(read());
  if (state === null) return `; check that Nova does not stop server ${uuid}`;
  const { isOn, novaRecord } = state;
  return isOn && novaRecord?.status === "SHUTOFF" && novaRecord.task !== "powering-on"
    ? `; start server ${uuid} through Nova now, or Nova's power sync powers the machine off`
    : "";
}

async function release(at: ServerMaking): Promise<string | null> {
  const { clients, id, before } = at;
  const wasHanded = isHanded(at);
  const ported = isPorted(at);
  // Nova may have deleted the server, and would tear the machine down. A machine in use is kept.
  const failure = async (reason: string): Promise<string> =>
    wasHanded
      ? `${reason}; it keeps its own hardware${await novaWould(clients, at)}`
      : fakeAgain(at, reason);
  for (const bind of ported ? [] : bindsOf(at)) {
    const record = recordOf(at);
    if (wasHanded && !(await requiresBinding(clients, bind, record))) continue;
    const reason = await portRestored(clients, bind, bind.more ?? {}, [record]);
    if (reason !== null) return failure(reason);
  }
  // From now on, the ports belong to the user.
  if (!ported) await at.begin({ step: "handed" });
  const may = async (now: JsonObject): Promise<string | null> => {
    const other = [...notAsBefore(before, now), ...infoChanges(before, now, false)];
    return other.length === 0 ? reasonForeign(at, now) : `it has changed: ${other.join(", ")}`;
  };
  const reason = await clients.hardware.release(id, maintenanceFor(at.server), may);
  if (reason !== null) return failure(reason);
  for (const end = clients.clock.now() + clients.watch; ; ) {
    const now = await clients.hardware.read(id);
    const conflict = anothers(at, now);
    if (conflict !== null) return conflict;
    const other = notAsBefore(before, now);
    if (other.length > 0)
      return `it has changed: ${other.join(", ")}${await novaWould(clients, at)}`;
    const rest = end - clients.clock.now();
    if (rest <= 0) return null;
    await clients.clock.sleep(Math.min(POLL_MS, rest));
  }
}

/** Other machines of the batch are still in progress. */
const POLL_MS = 30_000;
