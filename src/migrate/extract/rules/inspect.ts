import { noNic, normaliseMac } from "../../../lib/mac.ts";
import { counted, show, showColumn } from "../../../lib/text.ts";
import { isUuid } from "../../../lib/uuid.ts";
import { type Finding, finding, findingIf, merge } from "../../../model/findings.ts";
import {
  type BmInterface,
  type BmNode,
  columnsOf,
  type Instance,
  type Machine,
} from "../../../model/machine.ts";
import { inspectBoot } from "../../../systems/tftp/rules/harvest.ts";

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

/** Problems of the rows alone. @source facts/nova-bm.md 1.3-1.7, 1.11 */
function inspectRows(machine: Machine): readonly Finding[] {
  const { node, interfaces } = machine;
  const where = `bm_nodes.id=${node.id}`;
  if (node.deleted === true) return inspectDeleted(machine, where);
  const live = interfaces.filter(({ deleted }) => deleted !== true);
  const duplicates = machine.duplicates.uuid;
  const addressed =
    typeof node.prov_mac_address === "string" || live.some(({ address }) => address !== null);
  return merge([
    inspectUuid(node.uuid, where),
    duplicates.length > 0
      ? [finding("N2I-D016", `${where} uuid`, `the same as on ${listedNodes(duplicates)}`)]
      : NONE,
    node.deleted === null ? [finding("N2I-D003", `${where} deleted`, UNDECIDED)] : NONE,
    inspectNumbers(machine, where),
    addressed ? NONE : [finding("N2I-D007", where, live.length === 0 ? UNNAMED : BARE)],
    nulCharacters("bm_nodes", node),
    inspectMac(node.prov_mac_address, "bm_nodes", node.id, "prov_mac_address"),
    provisioningDuplicates(machine),
    ...interfaces.map((row) => inspectInterface(row, machine)),
  ]);
}

function listedNodes(ids: readonly number[]): string {
  return `bm_nodes.id ${ids.join(", ")}, ignoring case`;
}

const UNNAMED = "no row in bm_interfaces refers to it";
const BARE = "none of its interfaces has an address";

const NONE: readonly Finding[] = [];

const UNDECIDED = "deleted is NULL, so nova never used it";

/** Nova converts them to integers, and fails on any other text. @source facts/ironic.md 3.3 */
function inspectNumbers({ node, nova }: Machine, where: string): readonly Finding[] {
  // If Nova was read, its figures take precedence.
  const columns = node.instance_uuid && nova === null ? DEPLOYED : SIZES;
  return [
    ...columns.flatMap((column) => {
      const value = node[column] ?? null;
      if (value === null || Number.isSafeInteger(value)) return NONE;
      return [finding("N2I-D021", `${where} ${column}`, `${column} is ${show(String(value))}`)];
    }),
    ...SIZES.flatMap((column) => {
      const value = node[column];
      if (value !== null && (typeof value !== "number" || value > 0)) return NONE;
      return [finding("N2I-D006", `${where} ${column}`, `is ${value ?? "NULL"}`)];
    }),
  ];
}

const SIZES = ["cpus", "memory_mb", "local_gb"] as const;
const DEPLOYED = [...SIZES, "root_mb", "swap_mb", "ephemeral_mb"] as const;

function inspectUuid(uuid: string | null, where: string): readonly Finding[] {
  if (uuid === null || uuid === "")
    return [finding("N2I-D001", `${where} uuid`, uuid === null ? "is NULL" : "is empty")];
  return isUuid(uuid) ? NONE : [finding("N2I-D002", `${where} uuid`, show(uuid))];
}

function inspectInterface(row: BmInterface, machine: Machine): readonly Finding[] {
  // Called lazily, because building this text for every row costs time.
  const at = (column: string): string => `bm_interfaces.id=${row.id} ${column}`;
  if (row.deleted === true)
    return [finding("N2I-D014", `bm_interfaces.id=${row.id}`, "deleted is true")];
  const mac = normaliseMac(row.address ?? "");
  const duplicates = mac === null ? undefined : machinesWithMac(machine, mac);
  const stale = !!row.vif_uuid && !machine.node.instance_uuid;
  return merge([
    row.deleted === null ? [finding("N2I-D003", at("deleted"), UNDECIDED)] : NONE,
    row.address === null ? [finding("N2I-D012", at("address"), "is NULL")] : NONE,
    inspectMac(row.address, "bm_interfaces", row.id, "address"),
    duplicates === undefined
      ? NONE
      : [finding("N2I-D011", at("address"), `${mac} is also on ${listedNodes(duplicates)}`)],
    spelling(row, mac, machine),
    stale ? [finding("N2I-D110", at("vif_uuid"), "set, and the node has no instance")] : NONE,
    row.vif_uuid && !isUuid(row.vif_uuid)
      ? [finding("N2I-D023", at("vif_uuid"), show(row.vif_uuid))]
      : NONE,
    nulCharacters("bm_interfaces", row),
  ]);
}

/** Other nodes with a MAC. The check for an empty object is faster than a look-up. */
function machinesWithMac({ duplicates }: Machine, mac: string): readonly number[] | undefined {
  for (const _ in duplicates.address) return duplicates.address[mac];
  return undefined;
}

/** A second spelling of a MAC adds no port. @source facts/nova-bm.md 1.6 */
function spelling(
  row: BmInterface,
  mac: string | null,
  { interfaces, nova, node }: Machine,
): readonly Finding[] {
  // The first row of a machine is the first with its MAC.
  if (mac === null || interfaces[0] === row) return NONE;
  const isSame = (other: BmInterface): boolean =>
    other.deleted !== true && (other === row || normaliseMac(other.address ?? "") === mac);
  const first = interfaces.find(isSame);
  if (first === undefined || first.id === row.id) return NONE;
  const same = interfaces.filter(isSame);
  const vifs = new Set(same.flatMap(({ vif_uuid }) => vif_uuid?.toLowerCase() || []));
  const location = `bm_interfaces.id=${row.id} address`;
  const other = `bm_interfaces.id ${first.id}`;
  if (!node.instance_uuid || vifs.size < 2 || nova?.instance?.vifs)
    return [finding("N2I-D018", location, `${show(row.address ?? "")} is ${mac} of ${other}`)];
  const also = `${mac} is also on ${other} of this machine, with a different vif_uuid`;
  return [finding("N2I-D011", location, also)];
}

/** Up to schema 6, a machine's own interface may repeat its provisioning MAC. */
function provisioningDuplicates({ node, duplicates }: Machine): readonly Finding[] {
  if (typeof node.prov_mac_address !== "string") return NONE;
  const mac = normaliseMac(node.prov_mac_address);
  const sameMac = (duplicates.address[mac ?? ""] ?? []).filter((id) => id !== node.id);
  const location = `bm_nodes.id=${node.id} prov_mac_address`;
  const shared = `${mac} is also on bm_nodes.id ${sameMac.join(", ")}`;
  return findingIf(sameMac.length > 0, "N2I-D011", location, shared);
}

function inspectMac(value: unknown, table: string, id: number, column: string): readonly Finding[] {
  if (typeof value !== "string") return NONE;
  const mac = normaliseMac(value);
  const location = `${table}.id=${id} ${column}`;
  if (mac === null) return [finding("N2I-D010", location, show(value))];
  const reason = noNic(mac);
  return findingIf(reason !== null, "N2I-D022", location, `${mac} is ${reason}`);
}

function nulCharacters(table: string, row: BmNode | BmInterface): readonly Finding[] {
  const columns = columnsOf(row);
  return Object.keys(columns)
    .filter((name) => typeof columns[name] === "string" && columns[name].includes("\0"))
    .map((at) => finding("N2I-D009", `${table}.id=${row.id} ${at}`, "contains a NUL character"));
}

/** Migration 006 and manual changes left interfaces. @source facts/nova-bm.md 1.4, 1.6 */
function inspectDeleted(machine: Machine, where: string): readonly Finding[] {
  const { node, interfaces, nova } = machine;
  const names =
    nova === null && node.instance_uuid
      ? `, it has instance ${show(node.instance_uuid)}, and nova was not read`
      : "";
  return [
    finding("N2I-D004", `${where} deleted`, `deleted is true${names}`),
    ...deletedButLive(machine),
    ...interfaces
      .filter(({ deleted }) => deleted !== true)
      .map((row) => inspectSkipped(row, `bm_nodes.id=${node.id} is soft-deleted`)),
  ];
}

/** A live interface row that becomes no port. */
function inspectSkipped({ id, address }: BmInterface, reason: string): Finding {
  return finding(
    "N2I-D013",
    `bm_interfaces.id=${id} bm_node_id`,
    `${reason} (address ${address === null ? "null" : show(address)})`,
  );
}

/** Live instances that would have no machine, without those that Nova has on a live row. */
function deletedButLive({ node, nova, duplicates }: Machine): readonly Finding[] {
  const instance = nova?.instance;
  const isLiveElsewhere =
    instance?.deleted === false && !duplicates.holders.includes(instance.node?.toLowerCase() ?? "");
  const uuids = [...(isLiveElsewhere ? [instance.uuid] : []), ...(nova?.others ?? [])];
  return uuids.map((uuid) =>
    finding("N2I-D005", `bm_nodes.id=${node.id} instance_uuid`, `instance ${uuid} is live in nova`),
  );
}
