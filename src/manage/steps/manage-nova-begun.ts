import { bindsOf, holdOf, recordOf } from "./manage-acts.ts";
import type { ServerMaking } from "./manage-nova-hands.ts";

type BegunServer = Omit<ServerMaking, "twice" | "begin">;

export function notAsBegun(at: BegunServer): string | null {
  return otherWish(at) ?? otherPorts(at);
}

/** Why the server would lack ports, or null, also before binding and after creation. */
export function otherPorts({ hands, seen, acts, server }: BegunServer): string | null {
  if (recordOf({ acts, server }) !== server || !acts.some(({ step }) => step === "fake"))
    return null;
  const bound = bindsOf({ acts }).map(({ port }) => port);
  const missing = hands.portsOf(seen).filter((port) => !bound.includes(port));
  return missing.length === 0
    ? null
    : `its server would be created without port ${missing.join(", ")}: run rollback, then manage it with ports that exist`;
}

/** Flavor and image for the journal. The image may be the node's own. */
export function madeWith({ hands, id, asked, before }: BegunServer) {
  const { flavor, image } = hands.askedOf(asked, { id, before, ports: [] });
  return { flavor, ...(image !== null && { image }) };
}

/** Why the flavor or image differs from the start, or null. Also null after creation. */
function otherWish(at: BegunServer): string | null {
  const { flavor: first, image: own } = holdOf(at) ?? {};
  if (first === undefined || recordOf(at) !== at.server) return null;
  const { flavor, image } = madeWith(at);
  const other = [
    ...(first === flavor ? [] : [`flavor ${first}`]),
    ...(own === image ? [] : [`image ${own ?? "none"}`]),
  ];
  return other.length === 0
    ? null
    : `it was started with ${other.join(" and ")}: pass the same values, or it is rolled back`;
}
