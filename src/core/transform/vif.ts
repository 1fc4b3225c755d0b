import { normaliseMac } from "../../model/mac.ts";
import type { BmInterface, Machine, Vif } from "../../model/machine.ts";

/** A port to be: its MAC, the interface row it comes from (none for Grizzly's prov_mac_address), its VIF. */
export interface PortSource {
  readonly address: string;
  readonly interface: BmInterface | null;
  readonly vif: string | null;
}

/** Whether a bm_interfaces row is live: NULL counts as live. @source facts/nova-bm.md 1.5 */
export function isLive(row: { readonly deleted: boolean | null }): boolean {
  return row.deleted !== true;
}

/**
 * The Neutron port of a MAC: Nova's cache pairs by MAC and is right; bm_interfaces.vif_uuid
 * ignores MACs and is used only when Nova was not read or its cache is unreadable.
 *
 * @source facts/nova-bm.md 1.8
 */
export function vifOf(address: string, row: BmInterface | null, vifs: readonly Vif[] | null) {
  if (vifs === null) return row?.vif_uuid ?? null;
  return vifs.find((vif) => vif.address === address)?.id ?? null;
}

/**
 * The ports of a machine: its live interfaces with a MAC, and on schemas up to 6 the provisioning
 * MAC, each MAC once. Malformed MACs give none; `inspect` tells of them.
 *
 * @source facts/nova-bm.md 1.6
 */
export function portsOf({ node, interfaces, nova }: Machine): readonly PortSource[] {
  const vifs = nova === null ? null : (nova.instance?.vifs ?? null);
  const rows: readonly (readonly [string, BmInterface | null])[] = [
    ...interfaces.filter(isLive).map((row) => [row.address ?? "", row] as const),
    [typeof node.prov_mac_address === "string" ? node.prov_mac_address : "", null],
  ];
  const seen = new Set<string>();
  return rows.flatMap(([text, row]) => {
    const address = normaliseMac(text);
    if (address === null || seen.has(address)) return [];
    seen.add(address);
    return { address, interface: row, vif: vifOf(address, row, vifs) };
  });
}
