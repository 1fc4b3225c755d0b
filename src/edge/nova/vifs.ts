import { isObject } from "../../model/json.ts";
import { normaliseMac } from "../../model/mac.ts";
import type { Vif } from "../../model/machine.ts";

/**
 * The VIFs of instance_info_caches.network_info: a JSON list whose items carry the Neutron port as
 * `id` and its MAC as `address`. Null when it is absent or is not such a list.
 *
 * @source facts/nova-bm.md 1.8
 */
export function parseVifs(json: string | null): readonly Vif[] | null {
  if (json === null || json === "") return null;
  let parsed: unknown;
  try {
    parsed = JSON.parse(json);
  } catch {
    return null;
  }
  if (!Array.isArray(parsed)) return null;
  const vifs: Vif[] = [];
  for (const item of parsed) {
    if (!isObject(item) || typeof item.id !== "string" || typeof item.address !== "string")
      return null;
    const address = normaliseMac(item.address);
    if (address === null) return null;
    vifs.push({ id: item.id, address });
  }
  return vifs;
}
