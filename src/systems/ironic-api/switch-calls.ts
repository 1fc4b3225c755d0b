import { MigrationError } from "../../lib/error.ts";
import { isObject, type Json, type JsonObject } from "../../lib/json.ts";
import { type Stand, settled } from "../openstack/settled.ts";
import { bodyOf, notThat } from "./look.ts";
import type { Failpoint, NodeCall } from "./node.ts";
import type { RestService } from "./service.ts";

/** A change by one call, which is looked at before each try. */
export interface SwitchWrite extends NodeCall {
  /** Names it in errors: `PATCH of node U`. */
  readonly what: string;
  /** Uuids of the nodes that it changes. */
  readonly on: readonly string[];
  readonly look: () => Promise<Stand>;
  /** That it is refused says nothing: what comes next is decided by what is there then. */
  readonly mayRefuse?: true;
}

export type VolumeKind = "connectors" | "targets";

/** Interfaces that a boot from a volume takes. */
const NEEDED = ["power", "boot", "deploy", "storage"];

/**
 * What a switchover asks of Ironic, and how it changes things there.
 *
 * @param failpoint called around every call that changes something
 */
export function switchCalls(service: RestService, failpoint: Failpoint) {
  const found = (node: string) => bodyOf(service, `/v1/nodes/${node}`, node);
  const node = async (uuid: string): Promise<JsonObject> => {
    const body = await found(uuid);
    if (body !== null) return body;
    throw new MigrationError("N2I-E306", `Ironic has no node ${uuid} any more`);
  };
  /** What is no list is not an empty one: a volume or a VIF would stay behind untold. */
  async function whole(path: string, name: string): Promise<readonly Json[]> {
    const body = await service.ask(path);
    if (!isObject(body) || !Array.isArray(body[name])) throw notThat(service, path);
    return body[name];
  }
  return {
    node,
    isGone: async (node: string) => (await found(node)) === null,
    /** Uuid of the node that has a volume connector or target; null where there is no such thing. */
    async ownerOf(kind: VolumeKind, uuid: string): Promise<string | null> {
      const body = await bodyOf(service, `/v1/volume/${kind}/${uuid}`, uuid);
      return body === null ? null : String(body.node_uuid);
    },
    /** Uuids of a node's connectors or targets. */
    async volumesOf(kind: VolumeKind, node: string): Promise<readonly string[]> {
      const path = `/v1/volume/${kind}?node=${node}&fields=uuid`;
      return (await whole(path, kind)).map((body) => wordIn(body, "uuid"));
    },
    /** Neutron's ports attached to a node, in their order. */
    async vifs(node: string): Promise<readonly string[]> {
      const all = await whole(`/v1/nodes/${node}/vifs`, "vifs");
      return all.map((body) => wordIn(body, "id"));
    },
    allocation: (uuid: string) => bodyOf(service, `/v1/allocations/${uuid}`, uuid),
    /** Faults that `validate` tells of what a boot from a volume needs. */
    async invalid(node: string): Promise<readonly string[]> {
      const path = `/v1/nodes/${node}/validate`;
      const body = await service.ask(path);
      if (!isObject(body)) throw notThat(service, path);
      return NEEDED.flatMap((name) => {
        const { result, reason } = isObject(body[name]) ? body[name] : {};
        return result === false ? [`${name}: ${String(reason)}`] : [];
      });
    },
    /** @returns null, or why it is refused. @throws MigrationError N2I-E210, N2I-E211 */
    make: ({ what, look, method, path, body }: SwitchWrite): Promise<string | null> =>
      settled(service.session, what, look, async () => {
        await failpoint("rest.before");
        const answer = await service.tell(method, path, body);
        await failpoint("rest.after");
        return answer;
      }),
  };
}

function wordIn(body: Json, field: string): string {
  return isObject(body) ? String(body[field]) : "";
}
