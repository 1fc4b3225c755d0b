import { isObject, type Json } from "./json.ts";

/**
 * Capabilities by name. `true` and `false` become lower case. Input:
 * `boot_mode:uefi,iscsi_boot:True`, or an object.
 * @source ironic: drivers/utils.py, capabilities_to_dict
 */
export function capabilitiesOf(capabilities: Json): ReadonlyMap<string, string> {
  const pairs = isObject(capabilities)
    ? Object.entries(capabilities).map(([name, value]) => [name, String(value)] as const)
    : String(capabilities ?? "")
        .split(",")
        .filter((piece) => piece.trim() !== "")
        .map((piece) => {
          const [name = "", ...value] = piece.split(":");
          return [name.trim(), value.join(":").trim()] as const;
        });
  const usual = (value: string): string =>
    /^(true|false)$/i.test(value) ? value.toLowerCase() : value;
  return new Map(pairs.map(([name, value]) => [name, usual(value)]));
}
