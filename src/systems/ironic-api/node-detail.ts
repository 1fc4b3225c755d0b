import { type Json, type JsonObject, objectOf } from "../../lib/json.ts";
import type { NodeDetail } from "../../model/switchover.ts";
import { lowerCaseText, pages } from "./body.ts";
import { nodeIn, readRunning } from "./running.ts";
import { checkMinor, type RestService } from "./service.ts";

/** @source facts/ironic.md 4.1 */
const SMARTNIC = 53;

/** Without the targets' properties, which contain secrets. */
const HANGS = {
  ports: "ports?pxe_enabled,physical_network,portgroup_uuid",
  portgroups: "portgroups?mode",
  connectors: "volume/connectors?type,connector_id",
  targets: "volume/targets?volume_type,boot_index,volume_id",
} as const;

type Hanging = { [kind in keyof typeof HANGS]: JsonObject[] };

/** @throws MigrationError N2I-E209 if the service is too old, N2I-E210 to N2I-E212 */
export async function readHanging(service: RestService, node?: string) {
  checkMinor(service, "switchover");
  const of = new Map<string, Hanging>();
  const filter = node === undefined ? "" : `&node=${node}`;
  // All lists are requested at once.
  const lists = Object.entries(HANGS).map(([kind, what]) => {
    const [collection = "", extras = ""] = what.split("?");
    const fields = kind === "ports" && service.minor >= SMARTNIC ? `${extras},is_smartnic` : extras;
    return [kind, pages(service, collection, `&fields=uuid,node_uuid,${fields}${filter}`)] as const;
  });
  for (const [kind, list] of lists)
    for await (const page of list)
      for (const body of page.map(objectOf)) {
        const owner = String(body.node_uuid);
        const hanging = of.get(owner) ?? { ports: [], portgroups: [], connectors: [], targets: [] };
        of.set(owner, hanging);
        hanging[kind as keyof Hanging].push(body); // its keys are those of HANGS
      }
  return of;
}

export async function* nodesInDetail(
  service: RestService,
  hanging: ReadonlyMap<string, Hanging>,
  provision_state: string,
): AsyncGenerator<readonly NodeDetail[]> {
  for await (const page of pages(
    service,
    "nodes",
    `&detail=true&provision_state=${provision_state}`,
  ))
    yield page.map((body) => completeOf(nodeIn(service, body), hanging));
}

export async function nodeInDetail(
  service: RestService,
  ident: string,
): Promise<NodeDetail | null> {
  const running = await readRunning(service, ident, []);
  if (running === null) return null;
  const [hanging, body] = await Promise.all([
    readHanging(service, running.uuid),
    service.ask(`/v1/nodes/${running.uuid}`),
  ]);
  return body === null ? null : completeOf(nodeIn(service, body as Json), hanging); // parsed JSON
}

/** Ironic cannot find targets by volume. @throws MigrationError N2I-E210 to N2I-E212 */
export async function volumesElsewhere(service: RestService, { uuid, targets }: NodeDetail) {
  const volumeIds = new Set(targets.map(({ volume_id }) => volume_id));
  const found: { readonly volume_id: string; readonly node: string }[] = [];
  for await (const page of pages(service, "volume/targets", "&fields=uuid,node_uuid,volume_id"))
    for (const { volume_id, node_uuid } of page.map(objectOf))
      if (node_uuid !== uuid && volumeIds.has(String(volume_id)))
        found.push({ volume_id: String(volume_id), node: String(node_uuid) });
  return found;
}

function completeOf(
  { uuid, name, body }: ReturnType<typeof nodeIn>,
  hanging: ReadonlyMap<string, Hanging>,
): NodeDetail {
  const { ports = [], portgroups = [], connectors = [], targets = [] } = hanging.get(uuid) ?? {};
  return {
    ...{ uuid, name, body, portgroups },
    ports: ports.map((port) => ({
      ...port,
      in_portgroup: lowerCaseText(port.portgroup_uuid) !== null,
    })),
    connectors: connectors.map(({ uuid, type, connector_id }) => ({
      ...{ uuid: String(uuid), type: String(type), connector_id: String(connector_id) },
    })),
    targets: targets.map(({ uuid, volume_type, boot_index, volume_id }) => ({
      ...{ uuid: String(uuid), volume_type: String(volume_type), volume_id: String(volume_id) },
      boot_index: typeof boot_index === "number" ? boot_index : null,
    })),
  };
}
