import { isDeepStrictEqual } from "node:util";
import { MigrationError } from "../../lib/error.ts";
import { isObject, type JsonObject, objectOf } from "../../lib/json.ts";
import {
  FAKE,
  fakePatch,
  notAsBefore,
  protectedSince,
  swapPatch,
  unsafe,
} from "../../model/ironic/fake-hardware.ts";
import { minorOf } from "../../model/ironic/rest.ts";
import { pause } from "../openstack/passing.ts";
import { ask } from "../openstack/session.ts";
import { type Stand, settled, shown } from "../openstack/settled.ts";
import { listed, tellsOf } from "./look.ts";
import type { RestService } from "./service.ts";

/** Microversion that brought nodes of nodes. @source facts/ironic.md 4.1 */
const CHILDREN = 83;

/** Provision states on the way to others. */
const MOVING = new Set(["deleting", "cleaning", "adopting", "verifying", "deploying"]);

/** A verb of Ironic, where it is said, and what it ends in. */
const VERBS = {
  deleted: { from: /^(active|deploy failed|error)$/, to: "available" },
  manage: { from: /^(available|adopt failed)$/, to: "manageable" },
  adopt: { from: /^manageable$/, to: "active" },
} as const;

/**
 * A node that stands on hardware which does nothing while others believe that they deploy it. What is said to a
 * conductor about machines is said only while driver and every interface are harmless, looked at each time.
 *
 * Each call that changes something resolves to null, or to why it is refused.
 * @throws MigrationError N2I-E210, N2I-E211
 */
export type FakeHardware = ReturnType<typeof createFakeHardware>;

/** @param failpoint called around every call that changes something */
export function createFakeHardware(
  service: RestService,
  failpoint: (point: "rest.before" | "rest.after") => Promise<void>,
) {
  const tell: RestService["tell"] = async (method, path, body) => {
    await failpoint("rest.before");
    const answer = await service.tell(method, path, body);
    await failpoint("rest.after");
    return answer;
  };
  const at: At = { service, tell };
  return {
    read: (node: string) => read(at, node),
    hasVolumes: (node: string) => hasVolumes(at, node, ["connectors", "targets"]),
    hasTargets: (node: string) => hasVolumes(at, node, ["targets"]),
    newest: (known: JsonObject) => newest(at, known),
    children: (node: string) => children(at, node),
    hold: (node: string, reason: string, may?: May) => hold(at, node, reason, may),
    release: (node: string, reason: string, may: May) => release(at, node, reason, may),
    fake: (node: string, reason: string, before: JsonObject) => fake(at, node, reason, before),
    bring: (node: string, verb: keyof typeof VERBS, may?: May) => bring(at, node, verb, may),
    power: (node: string, to: string) => power(at, node, to),
    inform: (node: string, before: JsonObject) => inform(at, node, before),
    swap: (node: string, before: JsonObject, how: Swap) => swap(at, node, before, how),
  };
}

interface At {
  readonly service: RestService;
  readonly tell: RestService["tell"];
}

/** Looked at right before a call: why it may not be made. */
type May = (now: JsonObject) => string | null | Promise<string | null>;

interface Swap {
  readonly reason: string;
  readonly may: May;
  /** What came to `instance_info` since goes. */
  readonly exact: boolean;
}

async function read({ service }: At, node: string): Promise<JsonObject> {
  const body = await service.ask(pathOf(node));
  if (isObject(body) && tellsOf(body, node)) return body;
  const { url } = service.session;
  throw new MigrationError(
    "N2I-E212",
    body === null
      ? `${url} does not show node ${node} to this login`
      : `${url} answered GET ${pathOf(node)} without the node; is a proxy in between?`,
  );
}

function pathOf(node: string): string {
  return `/v1/nodes/${node}`;
}

/** Whether a disk of a storage network belongs to it. */
async function hasVolumes(
  { service }: At,
  node: string,
  kinds: readonly string[],
): Promise<boolean> {
  for (const kind of kinds)
    if (listed(await service.ask(`/v1/volume/${kind}?node=${node}`), kind).length > 0) return true;
  return false;
}

interface Newest {
  readonly node: JsonObject;
  /** Interfaces that the newest word alone tells. */
  readonly unseen: readonly string[];
}

/** A node by the newest word of a service that is newer than what is known here. */
async function newest({ service }: At, known: JsonObject): Promise<Newest> {
  const { identity, minor, session } = service;
  if (minorOf(identity.version) <= minor) return { node: known, unseen: [] };
  const whole = objectOf(await ask(session.at(identity.version), pathOf(String(known.uuid))));
  const unseen = Object.keys(whole).filter(
    (name) => name.endsWith("_interface") && !(name in known),
  );
  return { node: { ...known, ...whole }, unseen };
}

/** Uuids of nodes that say of it that they are a part of it, as the blades of a chassis. */
async function children({ service }: At, node: string): Promise<readonly string[]> {
  const { identity, session } = service;
  if (minorOf(identity.version) < CHILDREN) return [];
  const path = `/v1/nodes?parent_node=${node}&fields=uuid`;
  const all = listed(await ask(session.at(identity.version), path), "nodes");
  return all.map((one) => String(objectOf(one).uuid));
}

interface Wanted {
  readonly what: string;
  /** How it stands once it is made. */
  readonly is: (now: JsonObject) => boolean;
  /** Why it may not even count as made. */
  readonly must?: (now: JsonObject) => string | null;
  /** Why it may not be changed. */
  readonly may?: May;
}

/** @param how `shown` if the caller does not check the effect itself */
function make(
  at: At,
  node: string,
  { what, is, must = () => null, may = () => null }: Wanted,
  call: (now: JsonObject) => ReturnType<RestService["tell"]>,
  how = settled,
): Promise<string | null> {
  let now: JsonObject = {};
  const look = async (): Promise<Stand> => {
    now = await read(at, node);
    const never = must(now);
    if (never !== null) return { why: never };
    if (is(now)) return "made";
    const why = await may(now);
    return why === null ? "open" : { why };
  };
  return how(at.service.session, `${what} of node ${node}`, look, () => call(now));
}

/** Waits for a conductor to come to its end. */
async function reached(
  at: At,
  node: string,
  how: (now: JsonObject) => string | null | typeof WAIT,
): Promise<string | null> {
  for (let tries = 0; tries < MOST; tries += 1) {
    const is = how(await read(at, node));
    if (is !== WAIT) return is;
    await pause(tries);
  }
  return "Ironic does not come to an end with it";
}

const WAIT = Symbol("it is under way");
/** Looks at a conductor's work: about a quarter of an hour in all. */
const MOST = 450;

function hold(at: At, node: string, reason: string, may: May = () => null): Promise<string | null> {
  const wanted: Wanted = {
    what: "the maintenance",
    is: (now) => isHeld(now, reason),
    may: (now) =>
      now.maintenance === true
        ? `it is in maintenance: ${String(now.maintenance_reason)}`
        : may(now),
  };
  return make(at, node, wanted, () => at.tell("PUT", `${pathOf(node)}/maintenance`, { reason }));
}

/** Of our own maintenance alone. */
function release(at: At, node: string, reason: string, may: May): Promise<string | null> {
  const is = (now: JsonObject): boolean => !isHeld(now, reason);
  const wanted: Wanted = { what: "the end of maintenance", is, may };
  return make(at, node, wanted, () => at.tell("DELETE", `${pathOf(node)}/maintenance`), shown);
}

/**
 * Read back: null only where nothing that is done with it can reach its machine. What it was by then is what it is
 * after: a machine that its user turned on or off meanwhile keeps its own hardware, or Ironic would undo that at the
 * end. Ironic takes power calls of a node in maintenance, and locks it for their time.
 *
 * @source ironic 21.4: conductor/manager.py, change_node_power_state
 */
async function fake(
  at: At,
  node: string,
  reason: string,
  before: JsonObject,
): Promise<string | null> {
  const wanted: Wanted = {
    what: "the change to fake hardware",
    is: (now) => unsafe(now).length === 0,
    may: (now) =>
      heldBy(now, reason) ??
      (now.driver === FAKE ? null : (protectedSince(before, now) ?? turned(before, now))),
  };
  const path = `${pathOf(node)}?reset_interfaces=true`;
  const why = await make(at, node, wanted, (now) => at.tell("PATCH", path, fakePatch(now)));
  if (why !== null) return why;
  return harmless(await read(at, node));
}

/** Brings a node on fake hardware to the end of a verb. */
async function bring(
  at: At,
  node: string,
  verb: keyof typeof VERBS,
  more: May = () => null,
): Promise<string | null> {
  const { from, to } = VERBS[verb];
  const isOn = (state: unknown): boolean => MOVING.has(String(state));
  const wanted: Wanted = {
    what: verb,
    must: harmless,
    is: ({ provision_state: state }) => state === to || isOn(state),
    may: (now) => {
      const state = String(now.provision_state);
      return from.test(state) ? more(now) : `it is ${state}`;
    },
  };
  const path = `${pathOf(node)}/states/provision`;
  const why = await make(at, node, wanted, () => at.tell("PUT", path, { target: verb }));
  if (why !== null) return why;
  return reached(at, node, ({ provision_state: state, last_error: error, reservation }) => {
    if (state === to) return reservation === null ? null : WAIT;
    if (isOn(state) || (from.test(String(state)) && !String(state).endsWith("failed"))) return WAIT;
    return `it is ${String(state)}, and was to be ${to}: ${String(error ?? "no reason given")}`;
  });
}

/** Writes of a node on fake hardware whether it is on. */
async function power(at: At, node: string, to: string): Promise<string | null> {
  const wanted: Wanted = {
    what: "the power state",
    must: harmless,
    is: ({ power_state: is, target_power_state: goal }) => is === to || goal === to,
  };
  const path = `${pathOf(node)}/states/power`;
  const why = await make(at, node, wanted, () => at.tell("PUT", path, { target: to }));
  if (why !== null) return why;
  return reached(at, node, ({ power_state: is, target_power_state: goal = null }) =>
    is === to && goal === null ? null : WAIT,
  );
}

/** Gives `instance_info` back to a node on fake hardware, before it is adopted with it. */
function inform(at: At, node: string, { instance_info: value = {} }: JsonObject) {
  const wanted: Wanted = {
    what: "instance_info",
    must: harmless,
    is: ({ instance_info: is }) => isDeepStrictEqual(is, value),
  };
  const patch = [{ op: "add", path: "/instance_info", value }];
  return make(at, node, wanted, () => at.tell("PATCH", pathOf(node), patch));
}

/** Driver, interfaces and what else was, in one; read back. */
async function swap(
  at: At,
  node: string,
  before: JsonObject,
  { reason, exact, may }: Swap,
): Promise<string | null> {
  const wanted: Wanted = {
    what: "the change back",
    is: (now) => swapped(before, now, exact).length === 0,
    may: (now) => heldBy(now, reason) ?? may(now),
  };
  const why = await make(at, node, wanted, (now) =>
    at.tell("PATCH", pathOf(node), swapPatch(before, now, exact)),
  );
  if (why !== null) return why;
  const other = swapped(before, await read(at, node), exact);
  return other.length === 0 ? null : other.join(", ");
}

function swapped(before: JsonObject, now: JsonObject, exact: boolean): readonly string[] {
  return [...notAsBefore(before, now), ...(exact ? infoChanged : infoLost)(before, now)];
}

/** Whether `instance_info` is not as it was. */
export function infoChanged(before: JsonObject, now: JsonObject): readonly string[] {
  return isDeepStrictEqual(now.instance_info ?? null, before.instance_info ?? null)
    ? []
    : ["instance_info is not as it was"];
}

/** What stood in `instance_info` and does not any more, or otherwise; what came to it since may stay. */
export function infoLost(before: JsonObject, now: JsonObject): readonly string[] {
  const is = objectOf(now.instance_info);
  return Object.entries(objectOf(before.instance_info)).flatMap(([key, value]) =>
    isDeepStrictEqual(is[key], value) ? [] : [`instance_info.${key} is not as it was`],
  );
}

function isHeld({ maintenance, maintenance_reason }: JsonObject, reason: string): boolean {
  return maintenance === true && maintenance_reason === reason;
}

function heldBy(now: JsonObject, reason: string): string | null {
  return isHeld(now, reason) ? null : "it is not in the maintenance of this run";
}

/** Why a node is not on or off as it was; null: it is, and nobody is about to change that. */
function turned({ power_state: was = null }: JsonObject, now: JsonObject): string | null {
  const { power_state: is = null, target_power_state: goal = null } = now;
  if (is === was && (goal === null || goal === was)) return null;
  return `power_state is ${String(goal ?? is)}, and was ${String(was)}`;
}

function harmless(now: JsonObject): string | null {
  const real = unsafe(now);
  return real.length === 0 ? null : `it is not harmless on fake hardware: ${real.join(", ")}`;
}
