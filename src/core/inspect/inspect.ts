import { type Finding, finding, findingIf } from "../../model/finding.ts";
import type { BmInterface, Machine } from "../../model/machine.ts";
import { inspectBoot } from "../boot/harvest.ts";
import { inspectNova } from "./nova.ts";
import { inspectLeft, inspectRows } from "./rows.ts";

/** Every problem of one machine that needs no mapping to see. */
export function inspect(machine: Machine): readonly Finding[] {
  return [
    ...machine.findings,
    ...inspectRows(machine),
    ...inspectNova(machine),
    ...inspectBoot(machine),
  ];
}

/** An interface whose bm_node_id names no row of bm_nodes: no foreign key forbids it. */
export function inspectOrphan(row: BmInterface): Finding {
  const { bm_node_id } = row;
  return inspectLeft(
    row,
    bm_node_id === null ? "bm_node_id is NULL" : `bm_nodes.id=${bm_node_id} is not there`,
  );
}

/** What a snapshot taken without the nova database cannot know. */
export function inspectSources(
  novaRead: boolean,
  ignored: { readonly [table: string]: number },
): readonly Finding[] {
  return [
    ...findingIf(!novaRead, "N2I-D200", "nova", "--nova-db was not given, so no instance is known"),
    ...Object.entries(ignored)
      .filter(([, rows]) => rows > 0)
      .map(([table, rows]) => finding("N2I-D015", table, `${rows} rows are not carried over`)),
  ];
}

const NONE: readonly string[] = [];

/** Columns nobody knows in which a machine has a value, each once: `bm_nodes.rack`. */
export function unknownOf({ node, interfaces }: Machine): readonly string[] {
  if (node.extra === undefined && interfaces.every(({ extra }) => extra === undefined)) return NONE;
  const named = new Set(Object.keys(node.extra ?? {}).map((column) => `bm_nodes.${column}`));
  for (const { extra = {} } of interfaces)
    for (const column of Object.keys(extra)) named.add(`bm_interfaces.${column}`);
  return [...named];
}
