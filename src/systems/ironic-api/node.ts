import type { Json } from "../../lib/json.ts";
import { counted } from "../../lib/text.ts";
import type { NodeChange } from "../../model/ironic/rest.ts";

/** Called around every call that changes something; a test kills the process there. */
export type Failpoint = (point: "rest.before" | "rest.after") => Promise<void>;

/** A call that changes something. */
export interface NodeCall {
  readonly method: "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  readonly body?: Json;
}

/** The calls that change a node, by its uuid. @source facts/ironic.md 4.2, 4.6 */
export const nodeCalls = {
  patch: (node: string, changes: readonly NodeChange[]) =>
    call("PATCH", pathOf(node), jsonPatch(changes)),
  delete: (node: string) => call("DELETE", pathOf(node)),
  deletePort: (port: string) => call("DELETE", `/v1/ports/${port}`),
  traits: (node: string, traits: Json) => call("PUT", `${pathOf(node)}/traits`, { traits }),
  maintenance: (node: string, reason: Json) =>
    call("PUT", `${pathOf(node)}/maintenance`, reason === null ? {} : { reason }),
  endMaintenance: (node: string) => call("DELETE", `${pathOf(node)}/maintenance`),
  provision: (node: string, target: string) =>
    call("PUT", `${pathOf(node)}/states/provision`, { target }),
};

function call(method: NodeCall["method"], path: string, body?: Json): NodeCall {
  return { method, path, ...(body !== undefined && { body }) };
}

function pathOf(node: string): string {
  return `/v1/nodes/${node}`;
}

/** Ironic 21.4 answers 500 to its removal, which has no value to look at: null leaves it to the conductor. */
const NULLED = "automated_clean";

/** Keys are escaped as RFC 6901 has it. */
function jsonPatch(changes: readonly NodeChange[]): readonly Json[] {
  return changes.map(({ op = "add", path: keys, after }) => {
    const path = keys.map((key) => `/${key?.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
    if (after === undefined && keys[0] !== NULLED) return { op: "remove", path };
    return { op, path, value: after ?? null };
  });
}

/** How often the same call may be accepted: one that changes nothing is not made for ever, and an adoption is tried twice. */
const ACCEPTED = 3;

/** Counts writes that were accepted. */
export function acceptedWrites() {
  const times = new Map<string, number>();
  return {
    has: (what: string): boolean => times.has(what),
    add(what: string): void {
      times.set(what, (times.get(what) ?? 0) + 1);
    },
    /** The beginning of the reason why it is not made again; null: it may be. */
    exhausted(what: string): string | null {
      const isOver = (times.get(what) ?? 0) >= ACCEPTED;
      return isOver ? `${what} was accepted ${counted(ACCEPTED, "time")}` : null;
    },
  };
}
