import { noNic, normaliseMac } from "../../../lib/mac.ts";
import { counted, show, showColumn } from "../../../lib/text.ts";
import { isUuid } from "../../../lib/uuid.ts";
import {
  type Finding,
  type FindingCode,
  finding,
  findingIf,
  merge,
} from "../../../model/findings.ts";
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
  const { bm_node_id: id } = row;
  return inspectSkipped(
    row,
    id === null ? "bm_node_id is NULL" : `bm_nodes.id=${id} does not exist`,
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
  const names = (table: string, rows: readonly (BmNode | BmInterface)[]): readonly string[] =>
    rows.flatMap(({ extra = {} }) => Object.keys(extra).map((column) => `${table}.${column}`));
  return new Set([...names("bm_nodes", [node]), ...names("bm_interfaces", interfaces)]);
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
  const inNova = { root_mb: root_gb, ephemeral_mb: ephemeral_gb };
  return (["root_mb", "ephemeral_mb"] as const).flatMap((column) => {
    const [mb, gb] = [node[column], inNova[column]];
    if (typeof mb !== "number" || mb <= 0 || gb === null || mb === gb * 1024) return [];
    const sizes = `${mb} MiB here, ${gb} GiB in nova.instances`;
    return [finding("N2I-D120", `${where} ${column}`, sizes)];
  });
}

/** Adds a finding. The location is built only then, because building it for every row costs time. */
type Note = (code: FindingCode, column: string, message: string) => void;

/** Problems of the rows alone. @source facts/nova-bm.md 1.3-1.7, 1.11 */
function inspectRows(machine: Machine): readonly Finding[] {
  const { node, interfaces, duplicates } = machine;
  const where = `bm_nodes.id=${node.id}`;
  if (node.deleted === true) return inspectDeleted(machine, where);
  const found: Finding[] = [];
  const note: Note = (code, column, message) =>
    void found.push(finding(code, `${where} ${column}`, message));
  const { uuid, prov_mac_address: address } = node;
  if (uuid === null || uuid === "")
    note("N2I-D001", "uuid", uuid === null ? "is NULL" : "is empty");
  else if (!isUuid(uuid)) note("N2I-D002", "uuid", show(uuid));
  if (duplicates.uuid.length > 0)
    note("N2I-D016", "uuid", `the same as on ${listedNodes(duplicates.uuid)}, ignoring case`);
  if (node.deleted === null) note("N2I-D003", "deleted", UNDECIDED);
  noteNumbers(note, machine);
  const live = interfaces.filter(({ deleted }) => deleted !== true);
  if (typeof address !== "string" && live.every((row) => row.address === null))
    found.push(finding("N2I-D007", where, live.length === 0 ? UNNAMED : BARE));
  noteNul(note, node);
  noteMac(note, "prov_mac_address", address);
  // Up to schema 6, a machine's own interface may repeat its provisioning MAC.
  const mac = typeof address === "string" ? (normaliseMac(address) ?? "") : "";
  const sameMac = (duplicates.address[mac] ?? []).filter((id) => id !== node.id);
  if (sameMac.length > 0)
    note("N2I-D011", "prov_mac_address", `${mac} is also on ${listedNodes(sameMac)}`);
  for (const row of interfaces) inspectInterface(row, machine, found);
  return found;
}

function listedNodes(ids: readonly number[]): string {
  return `bm_nodes.id ${ids.join(", ")}`;
}

const UNNAMED = "no row in bm_interfaces refers to it";
const BARE = "none of its interfaces has an address";
const UNDECIDED = "deleted is NULL, so nova never used it";

/** Nova converts them to integers, and fails on any other text. @source facts/ironic.md 3.3 */
function noteNumbers(note: Note, { node, nova }: Machine): void {
  // If Nova was read, its figures take precedence.
  for (const column of node.instance_uuid && nova === null ? DEPLOYED : SIZES) {
    const value = node[column] ?? null;
    if (value !== null && !Number.isSafeInteger(value))
      note("N2I-D021", column, `${column} is ${show(String(value))}`);
  }
  for (const column of SIZES) {
    const value = node[column];
    if (value === null || (typeof value === "number" && !(value > 0)))
      note("N2I-D006", column, `is ${value ?? "NULL"}`);
  }
}

const SIZES = ["cpus", "memory_mb", "local_gb"] as const;
const DEPLOYED = [...SIZES, "root_mb", "swap_mb", "ephemeral_mb"] as const;

function inspectInterface(row: BmInterface, machine: Machine, found: Finding[]): void {
  const { id, deleted, address, vif_uuid } = row;
  if (deleted === true) {
    found.push(finding("N2I-D014", `bm_interfaces.id=${id}`, "deleted is true"));
    return;
  }
  const note: Note = (code, column, message) =>
    void found.push(finding(code, `bm_interfaces.id=${id} ${column}`, message));
  const mac = normaliseMac(address ?? "");
  const duplicates = machine.duplicates.address[mac ?? ""];
  if (deleted === null) note("N2I-D003", "deleted", UNDECIDED);
  if (address === null) note("N2I-D012", "address", "is NULL");
  noteMac(note, "address", address);
  if (duplicates !== undefined)
    note("N2I-D011", "address", `${mac} is also on ${listedNodes(duplicates)}`);
  noteSpelling(note, row, mac, machine);
  if (vif_uuid && !machine.node.instance_uuid)
    note("N2I-D110", "vif_uuid", "set, and the node has no instance");
  if (vif_uuid && !isUuid(vif_uuid)) note("N2I-D023", "vif_uuid", show(vif_uuid));
  noteNul(note, row);
}

/** A second spelling of a MAC adds no port. @source facts/nova-bm.md 1.6 */
function noteSpelling(
  note: Note,
  row: BmInterface,
  mac: string | null,
  { interfaces, nova, node }: Machine,
): void {
  // The first row of a machine is the first with its MAC.
  if (mac === null || interfaces[0] === row) return;
  const isSame = (other: BmInterface): boolean =>
    other.deleted !== true && (other === row || normaliseMac(other.address ?? "") === mac);
  const first = interfaces.find(isSame);
  if (first === undefined || first.id === row.id) return;
  const same = interfaces.filter(isSame);
  const vifs = new Set(same.flatMap(({ vif_uuid }) => vif_uuid?.toLowerCase() || []));
  const other = `bm_interfaces.id ${first.id}`;
  const also = `${mac} is also on ${other} of this machine, with a different vif_uuid`;
  if (!node.instance_uuid || vifs.size < 2 || nova?.instance?.vifs)
    note("N2I-D018", "address", `${show(row.address ?? "")} is ${mac} of ${other}`);
  else note("N2I-D011", "address", also);
}

function noteMac(note: Note, column: string, value: unknown): void {
  if (typeof value !== "string") return;
  const mac = normaliseMac(value);
  const reason = mac === null ? null : noNic(mac);
  if (mac === null) note("N2I-D010", column, show(value));
  if (reason !== null) note("N2I-D022", column, `${mac} is ${reason}`);
}

function noteNul(note: Note, row: BmNode | BmInterface): void {
  const columns = columnsOf(row);
  for (const column in columns)
    if (typeof columns[column] === "string" && columns[column].includes("\0"))
      note("N2I-D009", column, "contains a NUL character");
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
  const text = `${reason} (address ${address === null ? "null" : show(address)})`;
  return finding("N2I-D013", `bm_interfaces.id=${id} bm_node_id`, text);
}

/** Live instances that would have no machine, without those that Nova has on a live row. */
function deletedButLive({ node, nova, duplicates }: Machine): readonly Finding[] {
  const instance = nova?.instance;
  const isLiveElsewhere =
    instance?.deleted === false && !duplicates.holders.includes(instance.node?.toLowerCase() ?? "");
  const uuids = [...(isLiveElsewhere ? [instance.uuid] : []), ...(nova?.others ?? [])];
  const location = `bm_nodes.id=${node.id} instance_uuid`;
  return uuids.map((uuid) => finding("N2I-D005", location, `instance ${uuid} is live in nova`));
}
