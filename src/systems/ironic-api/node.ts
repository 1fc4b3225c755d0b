import { MigrationError } from "../../lib/error.ts";
import { isObject, type Json, type JsonObject, objectOf } from "../../lib/json.ts";
import { counted } from "../../lib/text.ts";
import type { NodeChange } from "../../model/ironic/rest.ts";
import type { Answer } from "../openstack/session.ts";
import { type CallState, settled, settledOnce } from "../openstack/settled.ts";
import { bodyOf, notThat } from "./body.ts";
import type { RestService } from "./service.ts";

/** Called around every changing call. Tests kill the process there. */
export type Failpoint = (point: "rest.before" | "rest.after") => Promise<void>;

export interface NodeCall {
  readonly method: "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  readonly body?: Json;
}

/** @source facts/ironic.md 4.2, 4.6 */
export const nodeCalls = {
  patch: (node: string, changes: readonly NodeChange[]) =>
    call("PATCH", pathOf(node), jsonPatch(changes)),
  /** Also resets unnamed interfaces to the driver's defaults. */
  reset: (node: string, changes: readonly NodeChange[]) =>
    call("PATCH", `${pathOf(node)}?reset_interfaces=true`, jsonPatch(changes)),
  delete: (node: string) => call("DELETE", pathOf(node)),
  deletePort: (port: string) => call("DELETE", `/v1/ports/${port}`),
  traits: (node: string, traits: Json) => call("PUT", `${pathOf(node)}/traits`, { traits }),
  maintenance: (node: string, reason: Json) =>
    call("PUT", `${pathOf(node)}/maintenance`, reason === null ? {} : { reason }),
  endMaintenance: (node: string) => call("DELETE", `${pathOf(node)}/maintenance`),
  provision: (node: string, target: string) =>
    call("PUT", `${pathOf(node)}/states/provision`, { target }),
  power: (node: string, body: { readonly target: string; readonly timeout?: number }) =>
    call("PUT", `${pathOf(node)}/states/power`, { ...body }),
  attach: (node: string, id: string) => call("POST", `${pathOf(node)}/vifs`, { id }),
  detach: (node: string, vif: string) => call("DELETE", `${pathOf(node)}/vifs/${vif}`),
  patchVolume: (volume: string, changes: readonly NodeChange[]) =>
    call("PATCH", `/v1/volume/${volume}`, jsonPatch(changes)),
  allocate: (body: JsonObject) => call("POST", "/v1/allocations", body),
  deallocate: (uuid: string) => call("DELETE", `/v1/allocations/${uuid}`),
};

function call(method: NodeCall["method"], path: string, body?: Json): NodeCall {
  return { method, path, ...(body !== undefined && { body }) };
}

export function pathOf(node: string): string {
  return `/v1/nodes/${node}`;
}

interface Check<N> {
  readonly is: (now: N) => boolean;
  /** A reason that applies even if the change exists. */
  readonly must?: (now: N) => string | null;
  readonly may?: (now: N) => string | null | Promise<string | null>;
}

interface Change<N> extends Check<N>, Pick<NodeWrite, "answered"> {
  readonly call: (now: N) => NodeCall;
}

/** A change by one call. The node is read before each try. */
export interface NodeWrite {
  /** For messages: `PATCH of node U`. */
  readonly what: string;
  readonly on: readonly string[];
  readonly read: () => Promise<CallState>;
  /** Uses the last read. */
  readonly call: () => NodeCall;
  readonly answered?: (answer: Answer) => void;
  /** Responses that must not be retried. */
  readonly isFinal?: (answer: Answer) => boolean;
}

/**
 * Reads a node before each changing call, and afterwards if the response does not show the effect.
 */
export type NodeClient<N> = ReturnType<typeof createNodeClient<N>>;

export function createNodeClient<N>(
  service: RestService,
  failpoint: Failpoint,
  read: (node: string) => Promise<N>,
) {
  const send = async ({ method, path, body }: NodeCall): Promise<Answer> => {
    await failpoint("rest.before");
    const answer = await service.send(method, path, body);
    await failpoint("rest.after");
    return answer;
  };
  const prepare = (
    node: string,
    what: string,
    { is, must, may }: Check<N>,
    call: Change<N>["call"],
  ): NodeWrite => {
    let now: N;
    return {
      ...{ what: `${what} of node ${node}`, on: [node] },
      async read() {
        now = await read(node);
        const never = must?.(now) ?? null;
        if (never !== null) return { reason: never };
        if (is(now)) return "made";
        const reason = (await may?.(now)) ?? null;
        return reason === null ? "open" : { reason };
      },
      call: () => call(now),
    };
  };
  /** @returns null, or the reason of the refusal @throws MigrationError N2I-E210, N2I-E211 */
  const make = ({ what, read, call, answered, isFinal }: NodeWrite, how = settled) => {
    const once = async (): Promise<Answer> => {
      const answer = await send(call());
      answered?.(answer);
      return answer;
    };
    return how(service.session, what, read, once, isFinal);
  };
  const changeBy =
    (how: typeof settled) =>
    (node: string, what: string, { call, answered, ...check }: Change<N>) =>
      make({ ...prepare(node, what, check, call), ...(answered && { answered }) }, how);
  return {
    ...{ read, send, prepare, make },
    change: changeBy(settled),
    /** For callers that do not read the effect themselves. */
    changeChecked: changeBy(settledOnce),
  };
}

/** Ironic 21.4 answers 500 if it is removed. Null has the same meaning. */
const NULLED = "automated_clean";

function jsonPatch(changes: readonly NodeChange[]): readonly Json[] {
  return changes.map(({ op = "add", path: keys, after }) => {
    const path = keys.map((key) => `/${key?.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
    if (after === undefined && keys[0] !== NULLED) return { op: "remove", path };
    return { op, path, value: after ?? null };
  });
}

/** Accepted calls without effect. Adoption is tried twice. */
const ACCEPTED = 3;

export function acceptedWrites() {
  const times = new Map<string, number>();
  return {
    has: (what: string): boolean => times.has(what),
    add(what: string): void {
      times.set(what, (times.get(what) ?? 0) + 1);
    },
    exhausted(what: string): string | null {
      const isOver = (times.get(what) ?? 0) >= ACCEPTED;
      return isOver ? `${what} was accepted ${counted(ACCEPTED, "time")}` : null;
    },
  };
}

export type VolumeKind = "connectors" | "targets";

/** Interfaces that a boot from volume needs. */
const NEEDED = ["power", "boot", "deploy", "storage"];

export function switchCalls(service: RestService, failpoint: Failpoint) {
  const found = (node: string) => bodyOf(service, `/v1/nodes/${node}`, node);
  const client = createNodeClient(service, failpoint, async (node): Promise<JsonObject> => {
    const body = await found(node);
    if (body !== null) return body;
    throw new MigrationError("N2I-E306", `Ironic no longer has node ${node}`);
  });
  /** A malformed list must not count as empty, or a volume or VIF would be missed. */
  async function readList(path: string, name: string): Promise<readonly Json[]> {
    const body = await service.ask(path);
    if (!isObject(body) || !Array.isArray(body[name])) throw notThat(service, path);
    return body[name];
  }
  return {
    ...client,
    /** @param from the states that permit it */
    provision(node: string, target: string, from: readonly string[]): NodeWrite {
      const is = (now: JsonObject): boolean => !from.includes(String(now.provision_state));
      return client.prepare(node, target, { is }, () => nodeCalls.provision(node, target));
    },
    /** The call may be repeated, because a BMC can ignore a request. */
    power(node: string, body: Parameters<typeof nodeCalls.power>[1]) {
      let isSent = false;
      const is = ({ target_power_state }: JsonObject): boolean => {
        // The response of an accepted call was lost.
        const isTaken = isSent && typeof target_power_state === "string";
        isSent = true;
        return isTaken;
      };
      const call = () => nodeCalls.power(node, body);
      return { ...client.prepare(node, body.target, { is }, call), repeats: true as const };
    },
    isNodeAbsent: async (node: string) => (await found(node)) === null,
    async ownerOf(kind: VolumeKind, uuid: string): Promise<string | null> {
      const body = await bodyOf(service, `/v1/volume/${kind}/${uuid}`, uuid);
      return body === null ? null : String(body.node_uuid);
    },
    async volumesOf(kind: VolumeKind, node: string): Promise<readonly string[]> {
      const path = `/v1/volume/${kind}?node=${node}&fields=uuid`;
      return (await readList(path, kind)).map((body) => String(objectOf(body).uuid));
    },
    async vifs(node: string): Promise<readonly string[]> {
      const all = await readList(`/v1/nodes/${node}/vifs`, "vifs");
      return all.map((body) => String(objectOf(body).id));
    },
    allocation: (uuid: string) => bodyOf(service, `/v1/allocations/${uuid}`, uuid),
    /** Failed validations that a boot from volume needs. */
    async invalid(node: string): Promise<readonly string[]> {
      const path = `/v1/nodes/${node}/validate`;
      const body = await service.ask(path);
      if (!isObject(body)) throw notThat(service, path);
      return NEEDED.flatMap((name) => {
        const { result, reason } = objectOf(body[name]);
        return result === false ? [`${name}: ${String(reason)}`] : [];
      });
    },
  };
}
