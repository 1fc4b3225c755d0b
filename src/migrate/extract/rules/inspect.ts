import { counted, showColumn } from "../../../lib/text.ts";
import { type Finding, finding, findingIf, merge } from "../../../model/findings.ts";
import type { BmInterface, Instance, Machine } from "../../../model/machine.ts";
import { inspectBoot } from "../../../systems/tftp/rules/harvest.ts";
import { inspectRows, inspectSkipped } from "./rows.ts";

/** Every problem of one machine that is visible without a mapping. */
export function inspect(machine: Machine): readonly Finding[] {
  return merge([
    machine.findings,
    inspectRows(machine),
    inspectNova(machine),
    inspectBoot(machine),
  ]);
}

/** An interface whose bm_node_id matches no row of bm_nodes. No foreign key prevents it. */
export function inspectOrphan(row: BmInterface): Finding {
  const { bm_node_id } = row;
  return inspectSkipped(
    row,
    bm_node_id === null ? "bm_node_id is NULL" : `bm_nodes.id=${bm_node_id} does not exist`,
  );
}

export function inspectSources(
  novaRead: boolean,
  ignored: { readonly [table: string]: number },
): readonly Finding[] {
  return [
    ...findingIf(!novaRead, "N2I-D200", "nova", "--nova-db is missing, so no instance was read"),
    ...Object.entries(ignored)
      .filter(([, rows]) => rows > 0)
      .map(([table, rows]) =>
        finding("N2I-D015", table, `${counted(rows, "row is", "rows are")} not migrated`),
      ),
  ];
}

/** Unknown columns in which a machine has a value, each once: `bm_nodes.rack`. */
export function unknownOf({ node, interfaces }: Machine): ReadonlySet<string> {
  const ofInterfaces = interfaces.flatMap(({ extra = {} }) => Object.keys(extra));
  return new Set([
    ...Object.keys(node.extra ?? {}).map((column) => `bm_nodes.${column}`),
    ...ofInterfaces.map((column) => `bm_interfaces.${column}`),
  ]);
}

/**
 * Differences between nova_bm and nova. The state table handles missing, deleted and busy
 * instances.
 * @source facts/nova-bm.md 1.11, 2.4, 5.1-5.3
 */
function inspectNova({ node, nova, duplicates }: Machine): readonly Finding[] {
  if (node.deleted === true || nova === null) return [];
  const where = `bm_nodes.id=${node.id}`;
  const location = `${where} instance_uuid`;
  const { instance } = nova;
  const unserved = `no live nova-compute is called ${showColumn(node.service_host)}`;
  const undecided = `instances.deleted is ${nova.undecided}`;
  return [
    ...findingIf(!nova.service, "N2I-D205", `${where} service_host`, unserved),
    ...nova.others.map((uuid) =>
      finding("N2I-D207", `${where} uuid`, `instances.uuid=${uuid} refers to this node`),
    ),
    ...findingIf(nova.undecided !== undefined, "N2I-D123", location, undecided),
    ...(nova.garbled ?? []).map((column) =>
      finding("N2I-D210", location, `${column} of the instance`),
    ),
    ...(instance === null || instance.deleted
      ? []
      : inspectInstance(instance, node, where, duplicates.instance_uuid.length > 0)),
  ];
}

function inspectInstance(
  instance: Instance,
  node: Machine["node"],
  where: string,
  disputed: boolean,
): readonly Finding[] {
  const location = `${where} instance_uuid`;
  const { flavor, host } = instance;
  // A disputed instance names the machine that keeps it. The other has its own finding.
  const misplaced = !disputed && instance.node?.toLowerCase() !== node.uuid?.toLowerCase();
  const hosts = `instances.host is ${showColumn(host)}, service_host ${showColumn(node.service_host)}`;
  const flavorFault =
    flavor === null ? "nova has no such flavor" : `flavor ${showColumn(flavor.name)} is deleted`;
  const unlisted = "instance_info_caches has no list of VIFs";
  return [
    ...findingIf(misplaced, "N2I-D203", location, `instances.node is ${showColumn(instance.node)}`),
    ...findingIf(host !== node.service_host, "N2I-D204", location, hosts),
    ...findingIf(flavor === null || flavor.deleted, "N2I-D208", location, flavorFault),
    ...findingIf(instance.vifs === null, "N2I-D209", location, unlisted),
    ...inspectSizes(instance, node, where),
  ];
}

/** The deploy helper grew root without updating bm_nodes. @source facts/nova-bm.md 1.7, 3.5 */
function inspectSizes(
  { root_gb, ephemeral_gb }: Instance,
  node: Machine["node"],
  where: string,
): readonly Finding[] {
  return (
    [
      ["root_mb", root_gb],
      ["ephemeral_mb", ephemeral_gb],
    ] as const
  ).flatMap(([column, gb]) => {
    const mb = node[column];
    if (typeof mb !== "number" || mb <= 0 || gb === null || mb === gb * 1024) return [];
    return [
      finding("N2I-D120", `${where} ${column}`, `${mb} MiB here, ${gb} GiB in nova.instances`),
    ];
  });
}
