import { isObject, objectOf, parsedJson, textOrNull } from "../../lib/json.ts";
import type { Flavor } from "../machine.ts";

/**
 * The flavor copy of an instance since Kilo, else null.
 * @param text instance_extra.flavor: serialised objects `cur`, `old` and `new`
 * @source facts/nova-bm.md 4.3
 */
export function embeddedFlavor(text: string | null): Flavor | null {
  const outer: unknown = parsedJson(text ?? "");
  const current = isObject(outer) && isObject(outer.cur) ? outer.cur : null;
  const data = current === null ? null : current["nova_object.data"];
  if (!isObject(data) || typeof data.id !== "number") return null;
  const specs = objectOf(data.extra_specs);
  return {
    id: data.id,
    name: textOrNull(data.name),
    flavorid: textOrNull(data.flavorid),
    swap: typeof data.swap === "number" ? data.swap : null,
    deleted: false,
    extra_specs: Object.fromEntries(
      Object.entries(specs).map(([key, value]) => [key, value === null ? null : String(value)]),
    ),
  };
}
