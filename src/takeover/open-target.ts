import type { Keep } from "../run/databases.ts";
import { type LegacyPlaces, openLegacyPlace } from "./baremetal/legacy-place.ts";
import { openHostPlace } from "./host-world.ts";
import type { MoveTarget } from "./target.ts";

/**
 * Opens the databases of the machines of one variant, and what else is given.
 *
 * @throws MigrationError as `openHostPlace`, and for nova-baremetal as `openLegacyPlace`
 */
export function openTarget(
  variant: MoveTarget["variant"],
  words: LegacyPlaces,
  keep: Keep,
  how: { readonly readOnly: boolean },
  say: (text: string) => void,
): Promise<MoveTarget> {
  const open = variant === "ironic" ? openHostPlace : openLegacyPlace;
  return open(words, keep, how, say);
}
