import { MigrationError } from "../lib/error.ts";
import { counted, listed, NAMED } from "../lib/text.ts";
import { blocks } from "../model/finding.ts";
import { closing } from "../run/databases.ts";
import type { RunFolder } from "../run/files/run-folder.ts";
import { checkWindow } from "../run/files/window-file.ts";
import { type MovePlan, presentMoves } from "../run/host-files.ts";
import { inRun } from "../run/run.ts";
import { saveOptions } from "../run/saved-options.ts";
import type { Sink } from "../run/sink.ts";
import { type HostMoved, movedOf, performMoves } from "./host-moves.ts";
import { type HostPlaces, openHostPlace } from "./host-world.ts";

interface HostMoveWords extends HostPlaces {
  readonly run: string;
}

/**
 * Performs the run's plan, or goes on with it.
 *
 * @throws MigrationError N2I-E317 where no machine can be moved, N2I-E315 for the plan of a takeover
 */
export function moveHosts(words: HostMoveWords, sink: Sink): Promise<HostMoved> {
  return inRun(words.run, "host move", { kind: "takeover", variant: "ironic" }, (run) =>
    closing(async (keep) => {
      const plan = await presentMoves(run);
      await checkMove(run, plan);
      const { counts, from, to } = plan.manifest;
      const place = await openHostPlace(words, keep, { readOnly: false }, sink.say);
      await saveOptions(run, "host", words);
      const hosts = from.map(({ host }) => host).join(", ");
      const rows = counts.computes + counts.instances;
      await sink.confirm(
        `Change ${counted(rows, "row")} of ${place.database.shown}: ${counted(counts.verdicts.move, "machine")} of ${hosts} go to ${to.join(", ")}?`,
      );
      return movedOf(plan, await performMoves(run, place, plan, sink));
    }),
  );
}

/**
 * @throws MigrationError N2I-E315 for the plan of a takeover, N2I-E317 and N2I-E306 as `checkMovable`
 */
export async function checkMove(run: RunFolder, plan: MovePlan): Promise<void> {
  // Nobody has watched its host, nor said that it is down.
  const { mode, nova_bm } = plan.manifest;
  const by =
    nova_bm === undefined
      ? "Go on with host takeover"
      : "Its agent, or host takeover, goes on with it";
  if (mode !== "move")
    throw new MigrationError("N2I-E315", `${run.path} takes over a dead host`, {
      fix: `${by}, or make a plan of its own with host plan.`,
    });
  await checkMovable(plan);
  await checkWindow(run, "host move");
}

/**
 * @throws MigrationError N2I-E317 with what stands against its machines, N2I-E306 for a plan without one
 */
export async function checkMovable({ manifest, lines }: MovePlan): Promise<void> {
  const { counts, from, nova_bm } = manifest;
  const { machines, verdicts } = counts;
  const hosts = from.map(({ host }) => host).join(", ");
  const whose = nova_bm === undefined ? "Ironic" : "nova-baremetal";
  if (machines === 0)
    throw new MigrationError("N2I-E306", `${hosts} has no machine of ${whose}`, {
      fix: "Compare its name with: nova2ironic host list",
    });
  if (verdicts.blocked < machines) return;
  const texts = new Set<string>();
  for await (const batch of lines())
    for (const found of batch.flatMap(({ findings }) => findings))
      if (blocks(found)) texts.add(`${found.message} (${found.code} ${found.place})`);
  throw new MigrationError("N2I-E317", listed([...texts], NAMED, "; "));
}
