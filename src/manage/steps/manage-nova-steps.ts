import { orNull } from "../../lib/error.ts";
import type { JsonObject } from "../../lib/json.ts";
import {
  changedSince,
  FAKE,
  imageOf,
  notAsBefore,
  unsafe,
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
  create,
  isAsMachine,
  madeWith,
  offered,
  otherPorts,
  statusFor,
} from "./manage-nova-create.ts";
import { anothers, maintenanceFor, marked, type ServerMaking } from "./manage-nova-marks.ts";
import { portRestored, portsFreed, requiresBinding } from "./manage-nova-ports.ts";

export interface ServerStep {
  /** Its name in the journal. */
  readonly step: Act["step"];
  /** Repeatable. Returns null, or the reason of a failure. */
  readonly make: (at: ServerMaking) => Promise<string | null>;
}

export const THERE: readonly ServerStep[] = [
  { step: "hold", make: hold },
  { step: "bind", make: bind },
  { step: "fake", make: fake },
  plain("free", ({ hands: { hardware }, id }) => hardware.bring(id, "deleted", nobodys)),
  plain("state", ({ hands: { hardware }, id, before }) =>
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
  return (await offered(at, isNew)) ?? at.hands.alone((passed) => create(at, isNew, passed));
}

export function nobodys({
  instance_uuid: instance = null,
  allocation_uuid: own = null,
}: JsonObject) {
  const record = instance ?? own;
  return record === null ? null : `it has instance ${String(record)}, not created by this run`;
}

async function hold(at: ServerMaking): Promise<string | null> {
  const { hands, id, server, asked } = at;
  const image = imageOf(await hands.hardware.read(id));
  if (!marked(at, at.seen)) {
    const secret = hasSecrets(image);
    if (secret !== null) return secret;
    at.before = image;
    await at.begin({ step: "hold", server, name: asked.name, node: image, ...madeWith(at) });
  }
  const held = await hands.recordClient.hold(id, server);
  if ("why" in held) return held.why;
  const why = await hands.hardware.hold(id, maintenanceFor(server));
  if (why !== null) return why;
  // Compares with the state before the hold.
  const now = await hands.hardware.read(id);
  const other = [...changedSince(at.before, now), ...infoChanges(at.before, now, true)];
  if (other.length > 0) return `it changed in the meantime: ${other.join(", ")}`;
  return changed(at);
}

/** Why it can no longer be managed, or null. Ignores this run's maintenance. */
async function changed(at: ServerMaking): Promise<string | null> {
  const seen = await at.hands.look(at);
  const node = seen.node && { ...seen.node, maintenance: false, maintenance_reason: null };
  const against = await at.hands.objections({ ...seen, node }, at.server, at.twice);
  return against.length === 0 ? null : `it changed in the meantime: ${against.join("; ")}`;
}

async function bind(at: ServerMaking): Promise<string | null> {
  const ids = at.hands.portsOf(at.seen);
  const known = bindsOf(at);
  const missing = known.filter(({ port }) => !ids.includes(port)).map(({ port }) => port);
  if (missing.length > 0)
    return `it was started with port ${missing.join(", ")}: use the same ports, or roll it back`;
  const against = known.length > 0 ? await changed(at) : null;
  return against ?? portsFreed(at, ids, known);
}

/** If a run ended before this step, later changes of the machine must be kept. */
async function fake({ hands, id, server, before, begin }: ServerMaking): Promise<string | null> {
  const now = await hands.hardware.read(id);
  if (now.driver !== FAKE) {
    const state = String(now.provision_state);
    const other = [
      ...changedSince(before, now),
      ...infoChanges(before, now, true),
      ...[nobodys(now) ?? []].flat(),
      ...(state === "active" ? [] : [`it is ${state}`]),
    ];
    if (other.length > 0) return `it changed in the meantime: ${other.join(", ")}`;
  }
  await begin({ step: "fake" });
  return hands.hardware.fake(id, maintenanceFor(server), before);
}

/**
 * Sets the server's power state. If it differs from the machine's, Nova stops and starts the server
 * on fake hardware, so that its power sync has processed earlier states.
 */
async function turn(at: ServerMaking): Promise<string | null> {
  const { hands, id, before } = at;
  const uuid = recordOf(at);
  const may = async (): Promise<string | null> => {
    const real = unsafe(await hands.hardware.read(id));
    return real.length === 0 ? null : `it is not completely on fake hardware: ${real.join(", ")}`;
  };
  if (at.stands === true || (await stands(at, uuid))) return null;
  const stopped = await hands.servers.turn(uuid, "SHUTOFF", may);
  if (stopped !== null) return stopped;
  const started =
    statusFor(before) === "ACTIVE" ? await hands.servers.turn(uuid, "ACTIVE", may) : null;
  return started ?? hands.hardware.power(id, String(before.power_state));
}

async function stands({ hands, id, before }: ServerMaking, uuid: string): Promise<boolean> {
  const now = await hands.servers.read(uuid);
  if (now === null || now.task !== null) return false;
  return isAsMachine(before, await hands.hardware.read(id), now.status);
}

async function swap(at: ServerMaking): Promise<string | null> {
  const { hands, id, server, before } = at;
  const { hardware } = hands;
  const reason = maintenanceFor(server);
  const held = await hardware.hold(id, reason);
  if (held !== null) return held;
  // The user may have requested changes that would reach the machine from now on.
  const may = (now: JsonObject) => reasonForeign(at, now);
  const why = await hardware.swap(id, before, { reason, exact: false, may });
  return why === null ? null : fakeAgain(at, why);
}

async function reasonForeign(at: ServerMaking, now: JsonObject) {
  const { hands, before, stands } = at;
  const uuid = recordOf(at);
  if (now.instance_uuid !== uuid) return `instance_uuid is ${String(now.instance_uuid)}`;
  if (now.provision_state !== "active") return `it is ${String(now.provision_state)}, not active`;
  if (now.power_state !== before.power_state)
    return `power_state is ${String(now.power_state)}, and was ${String(before.power_state)}`;
  // An untouched server is still as built. This check takes a quarter of the time.
  if (stands === true && (await hands.servers.isUntouched(uuid))) return null;
  const book = await hands.servers.read(uuid);
  if (book?.status === statusFor(before) && book.task === null) return null;
  return `server ${uuid} is ${book?.status ?? "gone"}, ${book?.task ?? "nothing under way"}`;
}

/** Keeps its own hardware if the user has changed its power. */
export async function fakeAgain(
  at: Pick<ServerMaking, "hands" | "id" | "server" | "acts" | "before" | "begin">,
  why: string,
): Promise<string> {
  const { hands, id, server, before } = at;
  const still = await hands.hardware.fake(id, maintenanceFor(server), before);
  if (still !== null)
    return `${why}; ${still}: it keeps its own hardware${await novaWould(hands, at)}`;
  if (isHanded(at)) await at.begin({ step: "unhanded" });
  return `${why}; it stays on fake hardware`;
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
  const look = async () => {
    const { power_state } = await hardware.read(change.id);
    return { isOn: power_state === "power on", book: await servers.read(uuid) };
  };
  // An error here must not hide the reason of the failure.
  const seen = await orNull(look());
  if (seen === null) return `; check that Nova does not stop server ${uuid}`;
  const { isOn, book } = seen;
  return isOn && book?.status === "SHUTOFF" && book.task !== "powering-on"
    ? `; start server ${uuid} through Nova now, or Nova's power sync powers the machine off`
    : "";
}

async function release(at: ServerMaking): Promise<string | null> {
  const { hands, id, before } = at;
  const wasHanded = isHanded(at);
  const ported = isPorted(at);
  // Nova may have deleted the server, and would tear the machine down. A machine in use is kept.
  const left = async (why: string): Promise<string> =>
    wasHanded
      ? `${why}; it keeps its own hardware${await novaWould(hands, at)}`
      : fakeAgain(at, why);
  for (const bind of ported ? [] : bindsOf(at)) {
    const own = recordOf(at);
    if (wasHanded && !(await requiresBinding(hands, bind, own))) continue;
    const why = await portRestored(hands, bind, bind.more ?? {}, [own]);
    if (why !== null) return left(why);
  }
  // From now on, the ports belong to the user.
  if (!ported) await at.begin({ step: "handed" });
  const may = async (now: JsonObject): Promise<string | null> => {
    const other = [...notAsBefore(before, now), ...infoChanges(before, now, false)];
    return other.length === 0 ? reasonForeign(at, now) : `it has changed: ${other.join(", ")}`;
  };
  const why = await hands.hardware.release(id, maintenanceFor(at.server), may);
  if (why !== null) return left(why);
  for (const end = hands.clock.now() + hands.watch; ; ) {
    const now = await hands.hardware.read(id);
    const gone = anothers(at, now);
    if (gone !== null) return gone;
    const other = notAsBefore(before, now);
    if (other.length > 0) return `it has changed: ${other.join(", ")}${await novaWould(hands, at)}`;
    const rest = end - hands.clock.now();
    if (rest <= 0) return null;
    await hands.clock.sleep(Math.min(LOOK_MS, rest));
  }
}

/** Other machines of the batch are still in progress. */
const LOOK_MS = 30_000;
