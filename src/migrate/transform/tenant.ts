import { objectOf } from "../../lib/json.ts";
import { counted, show } from "../../lib/text.ts";
import { type Finding, type FindingCode, finding, findingIf } from "../../model/findings.ts";
import type { Machine, Row } from "../../model/machine.ts";
import type { Mapping, StateOutcome, TargetDoc } from "../../model/mapping.ts";
import { cachedVifs, type PortSource, portsOf } from "./vif.ts";

interface Unbooted {
  readonly code: FindingCode;
  readonly text: (ironic: string) => string;
  /** Applies even if no conductor takes the machine over. */
  readonly always?: true;
}

/** Reasons why a machine does not boot. D406 only warns, because it can be fixed afterwards. */
const UNBOOTED: { readonly [boot in TargetDoc["boot"]]?: Unbooted } = {
  deploy: { code: "N2I-D406", text: (ironic) => `takeover by ${ironic} rewrites its boot file` },
  edit: { code: "N2I-D408", text: (ironic) => `takeover by ${ironic} edits a missing file` },
  local: {
    code: "N2I-D403",
    text: (ironic) => `${ironic} boots instances from disk only`,
    always: true,
  },
};

const AS_RAMDISK: Unbooted = {
  code: "N2I-D409",
  text: (ironic) => `${ironic} boots its kernel and ramdisk without reading its disk`,
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
  const unbooted = asRamdisk ? AS_RAMDISK : UNBOOTED[target.boot];
  // A conductor takes over active nodes, at the latest when maintenance ends.
  const taken = target.states[outcome]?.provision_state === "active";
  const few = vifs !== null && vifs.length > ports.length;
  const counts = `${counted(vifs?.length ?? 0, "VIF")} in Nova's cache, ${counted(ports.length, "interface")}`;
  const bare = ports.length > 0 && ports.every(({ vif }) => vif === null);
  const none = vifs === null ? "a vif_uuid" : "the MAC of a VIF";
  const swap = keepsUnknownSwap(machine);
  const rootless = (machine.nova?.instance?.root_gb ?? machine.node.root_mb) === 0;
  return [
    ...(unbooted !== undefined && (taken || unbooted.always === true)
      ? [finding(unbooted.code, where, unbooted.text(`Ironic ${target.release}`))]
      : []),
    ...findingIf(few, "N2I-D112", where, counts),
    ...findingIf(bare, "N2I-D113", where, `no interface has ${none}`),
    ...findingIf(swap, "N2I-D121", where, "an ephemeral disk, and a flavor without swap"),
    ...findingIf(rootless, "N2I-D122", where, "a flavor without root_gb"),
    ...inspectVifs(machine, ports, where),
  ];
}

const EMPTY = "Nova's cache of VIFs is empty";

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
    return [finding("N2I-D115", where, cached.length === 0 ? EMPTY : text)];
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
