import { MigrationError } from "../../lib/error.ts";
import { isObject, type Json, type JsonObject } from "../../lib/json.ts";
import { type Stand, settled } from "../openstack/settled.ts";
import { tellsOf } from "./look.ts";
import type { RestService } from "./service.ts";

/** A change by one call, which is looked at before each try. */
export interface SwitchWrite {
  /** Names it in errors: `PATCH of node U`. */
  readonly what: string;
  /** Uuids of the nodes that it changes. */
  readonly on: readonly string[];
  readonly look: () => Promise<Stand>;
  readonly method: "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  readonly body?: unknown;
  /** That it is refused says nothing: what comes next is decided by what is there then. */
  readonly mayRefuse?: true;
}

/** What a switchover asks of Ironic, and how it changes things there. */
export interface SwitchCalls {
  /** @throws MigrationError N2I-E306 where it is gone */
  readonly node: (uuid: string) => Promise<JsonObject>;
  readonly isGone: (uuid: string) => Promise<boolean>;
  /** Uuid of the node that has a volume connector or target; null where there is no such thing. */
  readonly ownerOf: (kind: VolumeKind, uuid: string) => Promise<string | null>;
  /** Uuids of a node's connectors or targets. */
  readonly volumesOf: (kind: VolumeKind, node: string) => Promise<readonly string[]>;
  /** Neutron's ports attached to a node, in their order. */
  readonly vifs: (node: string) => Promise<readonly string[]>;
  readonly allocation: (uuid: string) => Promise<JsonObject | null>;
  /** Faults that `validate` tells of what a boot from a volume needs. */
  readonly invalid: (node: string) => Promise<readonly string[]>;
  /** @returns null, or why it is refused. @throws MigrationError N2I-E210, N2I-E211 */
  readonly make: (write: SwitchWrite) => Promise<string | null>;
}

export type VolumeKind = "connectors" | "targets";

/** Interfaces that a boot from a volume takes. */
const NEEDED = ["power", "boot", "deploy", "storage"];

/** @param failpoint called around every call that changes something */
export function switchCalls(
  service: RestService,
  failpoint: (point: "rest.before" | "rest.after") => Promise<void>,
): SwitchCalls {
  const strange = (path: string): MigrationError =>
    new MigrationError(
      "N2I-E212",
      `${service.session.url} answers GET ${path} with something else`,
    );
  async function one(path: string, uuid: string): Promise<JsonObject | null> {
    const body = await service.ask(path);
    if (body === null) return null;
    if (!isObject(body) || !tellsOf(body, uuid)) throw strange(path);
    return body;
  }
  /** What is no list is not an empty one: a volume or a VIF would stay behind untold. */
  async function whole(path: string, name: string): Promise<readonly Json[]> {
    const body = await service.ask(path);
    if (!isObject(body) || !Array.isArray(body[name])) throw strange(path);
    return body[name];
  }
  return {
    async node(uuid) {
      const body = await one(`/v1/nodes/${uuid}`, uuid);
      if (body === null)
        throw new MigrationError("N2I-E306", `Ironic has no node ${uuid} any more`);
      return body;
    },
    isGone: async (uuid) => (await one(`/v1/nodes/${uuid}`, uuid)) === null,
    async ownerOf(kind, uuid) {
      const body = await one(`/v1/volume/${kind}/${uuid}`, uuid);
      return body === null ? null : String(body.node_uuid);
    },
    async volumesOf(kind, node) {
      const path = `/v1/volume/${kind}?node=${node}&fields=uuid`;
      return (await whole(path, kind)).map((body) => wordIn(body, "uuid"));
    },
    async vifs(node) {
      const all = await whole(`/v1/nodes/${node}/vifs`, "vifs");
      return all.map((body) => wordIn(body, "id"));
    },
    allocation: (uuid) => one(`/v1/allocations/${uuid}`, uuid),
    async invalid(node) {
      const body = await service.ask(`/v1/nodes/${node}/validate`);
      if (!isObject(body)) throw strange(`/v1/nodes/${node}/validate`);
      return NEEDED.flatMap((name) => {
        const { result, reason } = isObject(body[name]) ? body[name] : {};
        return result === false ? [`${name}: ${String(reason)}`] : [];
      });
    },
    make: ({ what, look, method, path, body }) =>
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
