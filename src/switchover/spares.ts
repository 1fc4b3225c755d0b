import { MigrationError } from "../lib/error.ts";
import { counted, listed, NAMES } from "../lib/text.ts";
import { loadIdentical } from "../migrate/open/documents.ts";
import { openManageClients } from "../migrate/open/services.ts";
import type { SpareClass } from "../model/switchover.ts";
import type { RestOptions } from "../run/cloud.ts";
import { closing } from "../run/databases.ts";
import type { Sink } from "../run/sink.ts";
import { nodesInDetail, readHanging } from "../systems/ironic-api/node-detail.ts";
import { gatherSpares, nodeName } from "./rules/spares.ts";

export interface SparesOptions extends RestOptions {
  /** Replaces mappings/identical.json. */
  readonly identical?: string;
  readonly need?: number;
}

/**
 * Lists machines that boot from volumes by hardware, with their spares. Makes seven listings
 * regardless of the fleet: ports, portgroups, connectors, targets, and nodes in three states.
 *
 * @param show receives the classes, fewest spares first
 * @returns whether a class has fewer spares than needed
 * @throws MigrationError N2I-E100, N2I-E103, N2I-E106, N2I-E202, N2I-E208 to N2I-E212; N2I-E326 if
 * spares are needed and no machine boots from a volume
 */
export function listSpares(
  options: SparesOptions,
  { report, note }: Pick<Sink, "report" | "note">,
  show: (classes: readonly SpareClass[]) => Promise<void>,
): Promise<boolean> {
  return closing(async (keep) => {
    const { need } = options;
    const doc = await loadIdentical(options.identical);
    const { service } = await openManageClients(options, keep, report);
    const hanging = await readHanging(service);
    const gathered = gatherSpares(doc);
    for await (const page of nodesInDetail(service, hanging, "active"))
      page.forEach(gathered.machine);
    for (const state of ["manageable", "enroll"])
      for await (const page of nodesInDetail(service, hanging, state)) page.forEach(gathered.spare);
    const { incapable, unusable } = gathered;
    const classes = gathered
      .classes()
      .toSorted((one, other) => one.candidates.length - other.candidates.length);
    if (need !== undefined && classes.length === 0)
      throw new MigrationError(
        "N2I-E326",
        "no active machine that boots from a volume is visible with these credentials",
        {
          fix: "Check that these credentials may list all nodes. Members of a project see only the nodes of that project.",
        },
      );
    await show(classes);
    if (incapable.length > 0)
      note(
        `${counted(incapable.length, "machine boots", "machines boot")} from a volume but cannot be moved: ${listed(incapable, NAMES)}`,
      );
    if (unusable.length > 0)
      note(
        `${counted(unusable.length, "node")} in manageable or enroll cannot be a spare: ${listed(unusable, NAMES)}`,
      );
    return need !== undefined && isShort(classes, need, note);
  });
}

function isShort(all: readonly SpareClass[], need: number, note: (text: string) => void): boolean {
  const short = all.filter(({ candidates }) => candidates.length < need);
  for (const { example, machines, candidates, nearest } of short)
    note(
      `${nodeName(example)}${machines > 1 ? ` and ${machines - 1} like it` : ""}: ${candidates.length} of ${counted(need, "spare")}${nearest === null ? "" : `; the closest is ${nodeName(nearest.spare)}: ${nearest.reason}`}`,
    );
  return short.length > 0;
}
