import { bindsOf, holdOf, recordOf } from "./manage-acts.ts";
import type { ServerMaking } from "./manage-nova-hands.ts";

/** What is asked of one that was begun, beside what the journal says. */
type BegunServer = Omit<ServerMaking, "twice" | "begin">;

/** Why it cannot be gone on with as it is asked for now; null: nothing stands against it. */
export function notAsBegun(at: BegunServer): string | null {
  return otherWish(at) ?? otherPorts(at);
}

/** Why a server would be made with other ports than are asked for; null: it has them, was made, or they are not bound yet. */
export function otherPorts({ hands, seen, acts, server }: BegunServer): string | null {
  if (recordOf({ acts, server }) !== server || !acts.some(({ step }) => step === "fake"))
    return null;
  const bound = bindsOf({ acts }).map(({ port }) => port);
  const missing = hands.portsOf(seen).filter((port) => !bound.includes(port));
  return missing.length === 0
    ? null
    : `its server would be made without port ${missing.join(", ")}: run rollback, then manage it with ports that exist`;
}

/** What a server is made with besides, as the journal has it: its node's own image may be the one. */
export function madeWith({ hands, id, asked, before }: BegunServer) {
  const { flavor, image } = hands.askedOf(asked, { id, before, ports: [] });
  return { flavor, ...(image !== null && { image }) };
}

/** Why a server would not be made as it was asked for at first; null: it would, or was made already. */
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
    : `it was begun with ${other.join(" and ")}: pass the same values, or it is taken back`;
}
