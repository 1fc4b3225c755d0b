import type { Machine } from "../../model/machine.ts";

const NONE: readonly string[] = [];

/** Columns nobody knows in which a machine has a value, each once: `bm_nodes.rack`. */
export function unknownOf({ node, interfaces }: Machine): readonly string[] {
  if (node.extra === undefined && interfaces.every(({ extra }) => extra === undefined)) return NONE;
  const named = new Set(Object.keys(node.extra ?? {}).map((column) => `bm_nodes.${column}`));
  for (const { extra = {} } of interfaces)
    for (const column of Object.keys(extra)) named.add(`bm_interfaces.${column}`);
  return [...named];
}
