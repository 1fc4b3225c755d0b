import type { BootEntry, BootStep } from "../../model/staging.ts";

/** What this run did to a tree for one machine. */
export interface Done {
  readonly node: string;
  /** In the order they were begun. */
  readonly steps: readonly BootStep[];
  /** Begun and not recorded as done: a crash may have left a file under a name of its own. */
  readonly open: boolean;
}

/** What a journal says was begun in a tree and not taken back since, in the order of the machines. */
export function stagedIn(entries: readonly BootEntry[], tree: string): readonly Done[] {
  const nodes = new Map<string, Done>();
  for (const entry of entries) {
    if (entry.tree !== tree) continue;
    const { node } = entry;
    const done = nodes.get(node) ?? { node, steps: [], open: false };
    switch (entry.do) {
      case "stage":
        nodes.set(node, { node, steps: [...done.steps, ...entry.steps], open: true });
        break;
      case "staged":
        nodes.set(node, { ...done, open: false });
        break;
      case "unstage":
        nodes.set(node, { ...done, open: true });
        break;
      case "unstaged": {
        const steps = done.steps.filter(({ path }) => entry.left.includes(path));
        if (steps.length > 0) nodes.set(node, { node, steps, open: false });
        else nodes.delete(node);
        break;
      }
    }
  }
  return [...nodes.values()];
}

/** Trees in which something of this run is staged, and of how many machines. */
export function stagedTrees(entries: readonly BootEntry[]): ReadonlyMap<string, number> {
  const trees = new Set(entries.map((entry) => entry.tree));
  return new Map(
    [...trees]
      .map((tree) => [tree, stagedIn(entries, tree).length] as const)
      .filter(([, machines]) => machines > 0),
  );
}
