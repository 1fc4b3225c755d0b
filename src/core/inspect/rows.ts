import { type Finding, finding } from "../../model/finding.ts";
import { noNic, normaliseMac } from "../../model/mac.ts";
import { type BmInterface, type BmNode, columnsOf, type Machine } from "../../model/machine.ts";
import { show } from "../../model/text.ts";
import { isUuid } from "../../model/uuid.ts";

/** Problems of the rows as they stand. @source facts/nova-bm.md 1.3-1.7, 1.11 */
export function inspectRows(machine: Machine): readonly Finding[] {
  const { node, interfaces } = machine;
  const where = `bm_nodes.id=${node.id}`;
  if (node.deleted === true) return inspectDeleted(machine, where);
  const live = interfaces.filter(({ deleted }) => deleted !== true);
  return [
    ...inspectUuid(node.uuid, where),
    ...(machine.rivals.uuid.length > 0
      ? [
          finding(
            "N2I-D016",
            `${where} uuid`,
            `the same as on bm_nodes.id ${machine.rivals.uuid.join(", ")}, ignoring case`,
          ),
        ]
      : []),
    ...(node.deleted === null
      ? [finding("N2I-D003", `${where} deleted`, "deleted is NULL, so nova never saw it")]
      : []),
    ...inspectSizes(machine, where),
    ...(live.every(({ address }) => address === null) && typeof node.prov_mac_address !== "string"
      ? [
          finding(
            "N2I-D007",
            where,
            live.length === 0
              ? "no row of bm_interfaces names it"
              : "none of its interfaces has an address",
          ),
        ]
      : []),
    ...nulCharacters("bm_nodes", node),
    ...inspectMac(node.prov_mac_address, `${where} prov_mac_address`),
    ...provisioningRivals(machine),
    ...interfaces.flatMap((row) => inspectInterface(row, machine)),
  ];
}

/** Nova makes whole numbers of them, and fails at any other text. @source facts/ironic.md 3.3 */
function inspectSizes({ node, nova }: Machine, where: string): readonly Finding[] {
  const own = ["cpus", "memory_mb", "local_gb"] as const;
  // Nova's figures come first where it was read.
  const deployed = node.instance_uuid && nova === null ? DEPLOYED : [];
  const odd = [...own, ...deployed].flatMap((column) => {
    const value = node[column] ?? null;
    return value === null || Number.isSafeInteger(value)
      ? []
      : [finding("N2I-D021", `${where} ${column}`, `${column} is ${show(String(value))}`)];
  });
  const absent = own.flatMap((column) => {
    const value = node[column];
    return value === null || (typeof value === "number" && value <= 0)
      ? [finding("N2I-D006", `${where} ${column}`, `is ${value ?? "NULL"}`)]
      : [];
  });
  return [...odd, ...absent];
}

const DEPLOYED = ["root_mb", "swap_mb", "ephemeral_mb"] as const;

function inspectUuid(uuid: string | null, where: string): readonly Finding[] {
  if (uuid === null || uuid === "")
    return [finding("N2I-D001", `${where} uuid`, uuid === null ? "is NULL" : "is empty")];
  return isUuid(uuid) ? [] : [finding("N2I-D002", `${where} uuid`, show(uuid))];
}

function inspectInterface(row: BmInterface, machine: Machine): readonly Finding[] {
  const where = `bm_interfaces.id=${row.id}`;
  if (row.deleted === true) return [finding("N2I-D014", where, "deleted is true")];
  const mac = normaliseMac(row.address ?? "");
  const rivals = mac === null ? undefined : machine.rivals.address[mac];
  return [
    ...(row.deleted === null
      ? [finding("N2I-D003", `${where} deleted`, "deleted is NULL, so nova never saw it")]
      : []),
    ...(row.address === null
      ? [finding("N2I-D012", `${where} address`, "is NULL")]
      : inspectMac(row.address, `${where} address`)),
    ...(rivals === undefined
      ? []
      : [
          finding(
            "N2I-D011",
            `${where} address`,
            `${mac} is also on bm_nodes.id ${rivals.join(", ")}, ignoring case`,
          ),
        ]),
    ...spelling(row, mac, machine, where),
    ...(row.vif_uuid && !machine.node.instance_uuid
      ? [finding("N2I-D110", `${where} vif_uuid`, "set, and the node has no instance")]
      : []),
    ...nulCharacters("bm_interfaces", row),
  ];
}

/**
 * A MAC that an earlier row of the machine spells otherwise makes one port with it. Two VIFs of one
 * MAC are another thing, where Nova's cache does not say which is right.
 *
 * @source facts/nova-bm.md 1.6
 */
function spelling(
  row: BmInterface,
  mac: string | null,
  { interfaces, nova, node }: Machine,
  where: string,
): readonly Finding[] {
  const same = interfaces.filter(
    (other) => other.deleted !== true && mac !== null && normaliseMac(other.address ?? "") === mac,
  );
  const first = same[0];
  if (first === undefined || first.id === row.id) return [];
  const vifs = new Set(same.flatMap(({ vif_uuid }) => vif_uuid?.toLowerCase() || []));
  return node.instance_uuid && vifs.size > 1 && !nova?.instance?.vifs
    ? [
        finding(
          "N2I-D011",
          `${where} address`,
          `${mac} is also on bm_interfaces.id ${first.id} of this machine, with another vif_uuid`,
        ),
      ]
    : [
        finding(
          "N2I-D018",
          `${where} address`,
          `${show(row.address ?? "")} is ${mac} of bm_interfaces.id ${first.id}`,
        ),
      ];
}

/** Up to schema 6 a machine's own interface row may repeat its provisioning MAC; another's may not. */
function provisioningRivals({ node, rivals }: Machine): readonly Finding[] {
  const mac =
    typeof node.prov_mac_address === "string" ? normaliseMac(node.prov_mac_address) : null;
  const others = (mac === null ? undefined : rivals.address[mac])?.filter((id) => id !== node.id);
  return others === undefined || others.length === 0
    ? []
    : [
        finding(
          "N2I-D011",
          `bm_nodes.id=${node.id} prov_mac_address`,
          `${mac} is also on bm_nodes.id ${others.join(", ")}`,
        ),
      ];
}

function inspectMac(value: unknown, place: string): readonly Finding[] {
  if (typeof value !== "string") return [];
  const mac = normaliseMac(value);
  if (mac === null) return [finding("N2I-D010", place, show(value))];
  const why = noNic(mac);
  return why === null ? [] : [finding("N2I-D022", place, `${mac} is ${why}`)];
}

function nulCharacters(table: string, row: BmNode | BmInterface): readonly Finding[] {
  return Object.entries(columnsOf(row))
    .filter(([, value]) => typeof value === "string" && value.includes("\0"))
    .map(([column]) =>
      finding("N2I-D009", `${table}.id=${row.id} ${column}`, "holds a NUL character"),
    );
}

/** Its interfaces should have gone with it; migration 006 and hand-written rows leave some. @source facts/nova-bm.md 1.4, 1.6 */
function inspectDeleted(machine: Machine, where: string): readonly Finding[] {
  const { node, interfaces, nova } = machine;
  const names =
    nova === null && node.instance_uuid
      ? `; it names instance ${show(node.instance_uuid)}, and nova was not read`
      : "";
  return [
    finding("N2I-D004", `${where} deleted`, `deleted is true${names}`),
    ...deletedButLive(machine),
    ...interfaces
      .filter(({ deleted }) => deleted !== true)
      .map((row) => inspectLeft(row, `bm_nodes.id=${node.id} is soft-deleted`)),
  ];
}

/** A live interface row that gives no port. */
export function inspectLeft({ id, address }: BmInterface, why: string): Finding {
  return finding(
    "N2I-D013",
    `bm_interfaces.id=${id} bm_node_id`,
    `${why}; its address is ${address === null ? "null" : show(address)}`,
  );
}

function deletedButLive({ node, nova }: Machine): readonly Finding[] {
  const uuids = [
    ...(nova?.instance && !nova.instance.deleted ? [nova.instance.uuid] : []),
    ...(nova?.others ?? []),
  ];
  return uuids.map((uuid) =>
    finding("N2I-D005", `bm_nodes.id=${node.id} instance_uuid`, `instance ${uuid} is live in nova`),
  );
}
