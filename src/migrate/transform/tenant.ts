import { type JsonObject, objectOf } from "../../lib/json.ts";
import { normaliseMac } from "../../lib/mac.ts";
import { counted, show } from "../../lib/text.ts";
import { isUuid } from "../../lib/uuid.ts";
import type { BootPlan } from "../../model/boot.ts";
import { type Finding, type FindingCode, finding, findingIf } from "../../model/findings.ts";
import type { BmInterface, HostConfig, Machine, Row, Vif } from "../../model/machine.ts";
import type { Mapping, StateOutcome, TargetDoc } from "../../model/mapping.ts";
import { rootUuid } from "../../systems/tftp/rules/harvest.ts";
import { inFolder } from "../../systems/tftp/rules/pxe-config.ts";

/** Reasons why a machine does not boot. D406 only warns, because it can be fixed afterwards. */
const UNBOOTED: { readonly [boot: string]: readonly [code: FindingCode, text: string] } = {
  deploy: ["N2I-D406", "takeover by IRONIC rewrites its boot file"],
  edit: ["N2I-D408", "takeover by IRONIC edits a missing file"],
  local: ["N2I-D403", "IRONIC boots instances from disk only"],
  ramdisk: ["N2I-D409", "IRONIC boots its kernel and ramdisk without reading its disk"],
};

/**
 * Problems of an instance after the load, although each row is correct.
 * @param asRamdisk the ramdisk deploy interface boots it
 * @source facts/nova-bm.md 1.8, 5.3, 5.5; facts/ironic.md 0.3, 2.3, 2.5, 3.4
 */
export function inspectTenant(
  machine: Machine,
  outcome: StateOutcome,
  { target, states }: Mapping,
  asRamdisk: boolean,
): readonly Finding[] {
  if (!states.outcomes[outcome].instance || outcome === "deploy-failed") return [];
  const where = `bm_nodes.id=${machine.node.id}`;
  const ports = portsOf(machine);
  const vifs = machine.nova?.instance?.vifs ?? null;
  const boot = asRamdisk ? "ramdisk" : target.boot;
  const [unbooted, text = ""] = UNBOOTED[boot] ?? [];
  // A conductor takes over active nodes, at the latest when maintenance ends.
  const taken = target.states[outcome]?.provision_state === "active";
  const few = vifs !== null && vifs.length > ports.length;
  const counts = `${counted(vifs?.length ?? 0, "VIF")} in Nova's cache, ${counted(ports.length, "interface")}`;
  const bare = ports.length > 0 && ports.every(({ vif }) => vif === null);
  const none = vifs === null ? "a vif_uuid" : "the MAC of a VIF";
  const swap = keepsUnknownSwap(machine);
  const rootless = (machine.nova?.instance?.root_gb ?? machine.node.root_mb) === 0;
  return [
    ...(unbooted !== undefined && (taken || boot === "local")
      ? [finding(unbooted, where, text.replace("IRONIC", `Ironic ${target.release}`))]
      : []),
    ...findingIf(few, "N2I-D112", where, counts),
    ...findingIf(bare, "N2I-D113", where, `no interface has ${none}`),
    ...findingIf(swap, "N2I-D121", where, "an ephemeral disk, and a flavor without swap"),
    ...findingIf(rootless, "N2I-D122", where, "a flavor without root_gb"),
    ...inspectVifs(machine, ports, where),
  ];
}

/** VIFs that differ between nova_bm and Nova's cache, and may be in use. */
function inspectVifs(
  machine: Machine,
  ports: readonly PortSource[],
  where: string,
): readonly Finding[] {
  const cached = machine.nova?.instance?.vifs ?? null;
  if (cached === null) return [];
  if (cachedVifs(machine) === null) {
    const text = `no interface has the MAC of a VIF in Nova's cache (${counted(cached.length, "VIF")})`;
    const empty = "Nova's cache of VIFs is empty";
    return [finding("N2I-D115", where, cached.length === 0 ? empty : text)];
  }
  const carried = new Set(ports.flatMap(({ vif }) => vif?.toLowerCase() ?? []));
  const recorded = new Set<string>();
  const findings = ports.flatMap(({ rows, vif }) =>
    rows.flatMap(({ id, vif_uuid }) => {
      const uuid = vif_uuid?.toLowerCase() ?? "";
      recorded.add(uuid);
      if (uuid === "" || uuid === vif?.toLowerCase()) return [];
      const column = `bm_interfaces.id=${id} vif_uuid`;
      return carried.has(uuid)
        ? [finding("N2I-D111", column, "its MAC is another VIF's")]
        : [finding("N2I-D114", column, `Nova's cache has no VIF ${show(uuid)} for any interface`)];
    }),
  );
  // A machine without VIFs, or with more VIFs than interfaces, has its own finding.
  if (carried.size === 0 || cached.length > ports.length) return findings;
  const lost = cached.filter(
    ({ id }) => ![carried, recorded].some((set) => set.has(id.toLowerCase())),
  );
  return [
    ...findings,
    ...lost.map(({ id, address }) =>
      finding("N2I-D114", where, `no interface has the MAC ${address} of VIF ${show(id)}`),
    ),
  ];
}

/** nova-baremetal's order is ephemeral, swap, root. Swap has at least 1 MiB, and 1 means none. */
function keepsUnknownSwap({ node, nova }: Machine): boolean {
  const ephemeral = nova?.instance?.ephemeral_gb ?? node.ephemeral_mb;
  const swap = nova?.instance?.flavor?.swap ?? node.swap_mb;
  return typeof ephemeral === "number" && ephemeral > 0 && typeof swap === "number" && swap <= 1;
}

/** Glance's formats for parts of an Amazon image, none of which Ironic detects. */
const AMAZON: ReadonlySet<string> = new Set(["ami", "ari", "aki"]);

/**
 * Instances whose rebuild, or takeover with the ramdisk interface, Ironic will refuse.
 * @source Ironic: ironic/common/images.py, check_if_image_format_is_permitted (CVE-2024-44082);
 * conductor/deployments.py, validate_node: a rebuild forgets kernel and ramdisk of a Glance image
 */
export function inspectRebuild({ nova }: Machine, row: Row, where: string): readonly Finding[] {
  const format = nova?.instance?.system_metadata.image_disk_format ?? "";
  const { deploy_interface: by, instance_info: info } = row;
  const amazon = by === "direct" && AMAZON.has(format.toLowerCase());
  const unset = by === "ramdisk" ? ["kernel", "ramdisk"].filter((key) => !objectOf(info)[key]) : [];
  const none = `instance_info has no ${unset.join(" and no ")}, which deploy_interface ramdisk needs`;
  const image = `its image has the disk_format ${show(format)}, under direct`;
  return [
    ...findingIf(amazon, "N2I-D126", where, image),
    ...findingIf(unset.length > 0, "N2I-D127", where, none),
  ];
}

/** A planned port: MAC, interface row (none for Grizzly's prov_mac_address) and VIF. */
export interface PortSource {
  readonly address: string;
  readonly interface: BmInterface | null;
  readonly vif: string | null;
  /** All rows of this MAC, several if it has several spellings. */
  readonly rows: readonly BmInterface[];
}

/** NULL counts as live. @source facts/nova-bm.md 1.5 */
const isLive = ({ deleted }: BmInterface): boolean => deleted !== true;

/**
 * Nova's VIF cache if it is valid. Null if nova_bm is the only source: Nova was not read, or its
 * cache is unreadable, empty, or has other MACs.
 * @source facts/nova-bm.md 1.8
 */
function cachedVifs({ node, interfaces, nova }: Machine): readonly Vif[] | null {
  const vifs = nova?.instance?.vifs ?? null;
  if (vifs === null) return null;
  const live = interfaces.filter(isLive);
  const macs = new Set(
    [...live.map(({ address }) => address), node.prov_mac_address].map((address) =>
      typeof address === "string" ? normaliseMac(address) : null,
    ),
  );
  const isMatching = vifs.some(({ address }) => macs.has(address));
  return isMatching || !live.some(({ vif_uuid }) => vif_uuid) ? vifs : null;
}

/**
 * The ports of a machine: its live interfaces with a valid MAC and, up to schema 6, the
 * provisioning MAC, without duplicates. Nova's cache has the correct MAC of each VIF, but vif_uuid
 * ignores MACs.
 * @source facts/nova-bm.md 1.6, 1.8
 */
export function portsOf(machine: Machine): readonly PortSource[] {
  const { node, interfaces } = machine;
  const vifs = cachedVifs(machine);
  // A list, because a map is slower for a few ports.
  const ports: PortSource[] = [];
  const add = (text: string, row: BmInterface | null): void => {
    const address = normaliseMac(text);
    if (address === null) return;
    const at = ports.findIndex((port) => port.address === address);
    const before = at < 0 ? NONE : (ports[at]?.rows ?? NONE);
    const rows = row === null ? before : [...before, row];
    const recorded = rows.find(({ vif_uuid }) => vif_uuid && isUuid(vif_uuid))?.vif_uuid ?? null;
    const cached = vifs?.find((vif) => vif.address === address)?.id ?? null;
    const vif = vifs === null ? recorded : cached;
    ports[at < 0 ? ports.length : at] = { address, interface: rows[0] ?? null, rows, vif };
  };
  for (const row of interfaces) if (isLive(row)) add(row.address ?? "", row);
  if (typeof node.prov_mac_address === "string") add(node.prov_mac_address, null);
  return ports;
}

const NONE: readonly BmInterface[] = [];

function specifiedRoot(set: JsonObject): string | null {
  return typeof set.root_uuid === "string" ? set.root_uuid : null;
}

/** Kernel arguments of the instance without `root=`: of its boot file, or nova-baremetal's. */
function argsOf({ boot }: Machine): string {
  return (boot?.kind === "read" && boot.config.boot?.args) || "ro";
}

/** Whether this machine needs the ramdisk interface to boot. @source facts/ironic.md 2.5 */
export function bootsAsRamdisk(set: JsonObject, target: TargetDoc): boolean {
  return target.boot === "local" && set.deploy_interface === "ramdisk";
}

/** The root filesystem of an instance, from the site document or else the boot file. */
export function bootSource(machine: Machine, set: JsonObject, target: TargetDoc) {
  const harvested = rootUuid(machine);
  const root = specifiedRoot(set) ?? harvested;
  return {
    root_uuid: harvested,
    // Only for the ramdisk interface. Every other interface passes the value to the deploy ramdisk.
    kernel_append_params:
      root !== null && bootsAsRamdisk(set, target) ? `root=UUID=${root} ${argsOf(machine)}` : null,
  };
}

/** The input of `boot`. Undefined if the root filesystem is unknown. */
export function bootPlan(
  machine: Machine,
  conf: HostConfig | null,
  set: JsonObject,
  target: TargetDoc,
): BootPlan | undefined {
  const root = specifiedRoot(set) ?? rootUuid(machine);
  if (root === null) return undefined;
  const label = machine.boot?.kind === "read" ? machine.boot.config.boot : null;
  const file = (path: string | null | undefined): string | null =>
    path ? inFolder(path, conf?.tftp_root ?? "/tftpboot", machine.node.instance_uuid ?? "") : null;
  return {
    root_uuid: root.toLowerCase(),
    args: argsOf(machine),
    label: bootsAsRamdisk(set, target) ? "boot_ramdisk" : target.boot_label,
    kernel: file(label?.kernel),
    ramdisk: file(label?.ramdisk),
    dhcp: conf === null ? null : { server: conf.my_ip ?? null, file: conf.pxe_bootfile_name },
  };
}

export function inspectRoots(machine: Machine, set: JsonObject, where: string): readonly Finding[] {
  const [site, file] = [specifiedRoot(set)?.toLowerCase(), rootUuid(machine)];
  const differ = site !== undefined && file !== null && site !== file;
  return findingIf(differ, "N2I-D708", where, `site document ${site}, boot file ${file}`);
}
