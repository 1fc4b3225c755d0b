import { MigrationError } from "../../lib/error.ts";
import { isObject, type Json, type JsonObject, objectOf } from "../../lib/json.ts";
import { bodyOf, notThat } from "./body.ts";
import { createNodeClient, type Failpoint, type NodeWrite, nodeCalls } from "./node.ts";
import type { RestService } from "./service.ts";

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
    /** Ids of attached Neutron ports in order. */
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
