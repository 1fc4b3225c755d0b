import { normaliseMac } from "../../lib/mac.ts";
import { isUuid } from "../../lib/uuid.ts";
import type { BmInterface, Machine, Vif } from "../../model/machine.ts";

/** A planned port: MAC, interface row (none for Grizzly's prov_mac_address) and VIF. */
export interface PortSource {
  readonly address: string;
  readonly interface: BmInterface | null;
  readonly vif: string | null;
  /** All rows of this MAC, several if it has several spellings. */
  readonly rows: readonly BmInterface[];
}

/** NULL counts as live. @source facts/nova-bm.md 1.5 */
function isLive(row: { readonly deleted: boolean | null }): boolean {
  return row.deleted !== true;
}

/**
 * Nova's VIF cache if it is valid. Null if nova_bm is the only source: Nova was not read, or its
 * cache is unreadable, empty, or has other MACs.
 * @source facts/nova-bm.md 1.8
 */
export function cachedVifs({ node, interfaces, nova }: Machine): readonly Vif[] | null {
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
