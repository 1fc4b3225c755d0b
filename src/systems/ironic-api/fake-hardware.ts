import { isDeepStrictEqual } from "node:util";
import { MigrationError } from "../../lib/error.ts";
import { type JsonObject, objectOf } from "../../lib/json.ts";
import {
  FAKE,
  fakeChanges,
  harmless,
  notAsBefore,
  protectedSince,
  swapChanges,
} from "../../model/ironic/fake-hardware.ts";
import { minorOf } from "../../model/ironic/rest.ts";
import { polled } from "../openstack/passing.ts";
import { ask, incomplete } from "../openstack/session.ts";
import { isAbout, listed } from "./body.ts";
import { createNodeClient, type Failpoint, type NodeClient, nodeCalls, pathOf } from "./node.ts";
import type { RestService } from "./service.ts";

/** First minor with child nodes. @source facts/ironic.md 4.1 */
const CHILDREN = 83;

const MOVING = new Set(["deleting", "cleaning", "adopting", "verifying", "deploying"]);

const VERBS = {
  deleted: { from: /^(active|deploy failed|error)$/, to: "available" },
  manage: { from: /^(available|adopt failed)$/, to: "manageable" },
  adopt: { from: /^manageable$/, to: "active" },
} as const;

/**
 * Verbs and power calls are sent only while driver and all interfaces are harmless, which is
 * checked each time. Each changing call resolves to null or the reason of the refusal.
 *
 * @throws MigrationError N2I-E210, N2I-E211
 */
export type FakeHardware = ReturnType<typeof createFakeHardware>;

export function createFakeHardware(service: RestService, failpoint: Failpoint) {
  const client: Client = createNodeClient(service, failpoint, (node) => readNode(service, node));
  return {
    read: client.read,
    hasVolumes: async (node: string) =>
      (await has(service, node, "connectors")) || (await has(service, node, "targets")),
    hasTargets: (node: string) => has(service, node, "targets"),
    newest: (node: JsonObject) => newest(service, node),
    children: (node: string) => children(service, node),
    ...maintenance(client),
    ...exchange(client),
    ...onFakeHardware(client),
  };
}

type Client = NodeClient<JsonObject>;
type May = (now: JsonObject) => string | null | Promise<string | null>;

interface Swap {
  readonly reason: string;
  readonly may: May;
  /** Whether to remove later additions to `instance_info`. */
  readonly exact: boolean;
}

async function readNode(service: RestService, node: string): Promise<JsonObject> {
  const body = await service.ask(pathOf(node));
  if (isAbout(body, node)) return body;
  const { session } = service;
  if (body !== null) throw incomplete(session, pathOf(node), "the node");
  const text = `${session.url} does not show node ${node} with these credentials`;
  throw new MigrationError("N2I-E212", text);
}

async function has(service: RestService, node: string, kind: string): Promise<boolean> {
  return listed(await service.ask(`/v1/volume/${kind}?node=${node}`), kind).length > 0;
}

/**
 * The node in the service's newest microversion, if that is newer than the pinned one, and the
 * interfaces that only the newest microversion shows.
 */
async function newest(service: RestService, node: JsonObject) {
  const { identity, minor, session } = service;
  if (minorOf(identity.version) <= minor) return { node, unseen: [] };
  const latest = objectOf(await ask(session.at(identity.version), pathOf(String(node.uuid))));
  const unseen = Object.keys(latest).filter(
    (name) => name.endsWith("_interface") && !(name in node),
  );
  return { node: { ...node, ...latest }, unseen };
}

/** Child nodes, for example the blades of a chassis. */
async function children(service: RestService, node: string): Promise<readonly string[]> {
  const { identity, session } = service;
  if (minorOf(identity.version) < CHILDREN) return [];
  const path = `/v1/nodes?parent_node=${node}&fields=uuid`;
  const all = listed(await ask(session.at(identity.version), path), "nodes");
  return all.map((one) => String(objectOf(one).uuid));
}

function maintenance({ change, changeChecked }: Client) {
  return {
    maintain: (node: string, reason: string, more: May = () => null) =>
      change(node, "the maintenance", {
        is: (now) => isInMaintenance(now, reason),
        may: (now) =>
          now.maintenance === true
            ? `it is in maintenance: ${String(now.maintenance_reason)}`
            : more(now),
        call: () => nodeCalls.maintenance(node, reason),
      }),
    /** Ends only the maintenance of this run. */
    release: (node: string, reason: string, may: May) =>
      changeChecked(node, "the end of maintenance", {
        is: (now) => !isInMaintenance(now, reason),
        may,
        call: () => nodeCalls.endMaintenance(node),
      }),
  };
}

function exchange({ read, change }: Client) {
  return {
    /**
     * Null only if no call for the node can reach its machine any more. A machine whose power
     * has changed keeps its hardware, because Ironic, which accepts power calls in maintenance,
     * would restore the old state.
     *
     * @source ironic 21.4: conductor/manager.py, change_node_power_state
     */
    async fake(node: string, reason: string, before: JsonObject) {
      const refusal = await change(node, "the change to fake hardware", {
        is: (now) => harmless(now) === null,
        may: (now) =>
          maintenanceFault(now, reason) ??
          (now.driver === FAKE ? null : (protectedSince(before, now) ?? turned(before, now))),
        call: (now) => nodeCalls.reset(node, fakeChanges(now)),
      });
      return refusal ?? harmless(await read(node));
    },
    /** Restores driver, interfaces and other fields in one call and reads them back. */
    async swap(node: string, before: JsonObject, { reason, exact, may }: Swap) {
      const refusal = await change(node, "the change back", {
        is: (now) => swapped(before, now, exact).length === 0,
        may: (now) => maintenanceFault(now, reason) ?? may(now),
        call: (now) => nodeCalls.patch(node, swapChanges(before, now, exact)),
      });
      if (refusal !== null) return refusal;
      const other = swapped(before, await read(node), exact);
      return other.length === 0 ? null : other.join(", ");
    },
  };
}

function onFakeHardware({ read, change }: Client) {
  /** @param how gives undefined while a conductor works */
  const reached = async (
    node: string,
    how: (now: JsonObject) => string | null | undefined,
  ): Promise<string | null> => {
    const ended = await polled(async () => how(await read(node)));
    return ended === undefined ? "Ironic does not finish it" : ended;
  };
  return {
    async apply(node: string, verb: keyof typeof VERBS, more: May = () => null) {
      const { from, to } = VERBS[verb];
      const isOn = (state: unknown): boolean => MOVING.has(String(state));
      const refusal = await change(node, verb, {
        must: harmless,
        is: ({ provision_state: state }) => state === to || isOn(state),
        may(now) {
          const state = String(now.provision_state);
          return from.test(state) ? more(now) : `it is ${state}`;
        },
        call: () => nodeCalls.provision(node, verb),
      });
      if (refusal !== null) return refusal;
      return reached(node, ({ provision_state, last_error: error, reservation }) => {
        const state = String(provision_state);
        if (state === to) return reservation === null ? null : undefined;
        if (isOn(state) || (from.test(state) && !state.endsWith("failed"))) return undefined;
        return `it is ${state}, but should be ${to}: ${String(error ?? "no reason given")}`;
      });
    },
    async power(node: string, to: string) {
      const refusal = await change(node, "the power state", {
        must: harmless,
        is: ({ power_state: is, target_power_state: goal }) => is === to || goal === to,
        call: () => nodeCalls.power(node, { target: to }),
      });
      if (refusal !== null) return refusal;
      return reached(node, ({ power_state: is, target_power_state: goal = null }) =>
        is === to && goal === null ? null : undefined,
      );
    },
    inform: (node: string, { instance_info: after = {} }: JsonObject) =>
      change(node, "instance_info", {
        must: harmless,
        is: (now) => isDeepStrictEqual(now.instance_info, after),
        call: () => nodeCalls.patch(node, [{ path: ["instance_info"], after }]),
      }),
  };
}

function swapped(before: JsonObject, now: JsonObject, exact: boolean): readonly string[] {
  return [...notAsBefore(before, now), ...infoChanges(before, now, exact)];
}

export function infoChanges(before: JsonObject, now: JsonObject, exact: boolean) {
  const [was, is] = [before.instance_info ?? null, now.instance_info ?? null];
  const other = exact
    ? ["instance_info"].filter(() => !isDeepStrictEqual(is, was))
    : Object.entries(objectOf(was)).flatMap(([key, value]) =>
        isDeepStrictEqual(objectOf(is)[key], value) ? [] : [`instance_info.${key}`],
      );
  return other.map((name) => `${name} has changed`);
}

function isInMaintenance({ maintenance, maintenance_reason }: JsonObject, reason: string): boolean {
  return maintenance === true && maintenance_reason === reason;
}

function maintenanceFault(now: JsonObject, reason: string): string | null {
  return isInMaintenance(now, reason) ? null : "it is not in the maintenance of this run";
}

/** Null if the power is unchanged and no change is pending. */
function turned({ power_state: was = null }: JsonObject, now: JsonObject): string | null {
  const { power_state: is = null, target_power_state: goal = null } = now;
  if (is === was && (goal === null || goal === was)) return null;
  return `power_state is ${String(goal ?? is)}, and was ${String(was)}`;
}
