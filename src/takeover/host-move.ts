import { MigrationError } from "../lib/error.ts";
import { listed, NAMES } from "../lib/text.ts";
import { blocks } from "../model/findings.ts";
import { closing } from "../run/databases.ts";
import type { RunFolder } from "../run/files/run-folder.ts";
import { checkWindow } from "../run/files/window-file.ts";
import { type MovePlan, presentMoves } from "../run/host-files.ts";
import { inRun } from "../run/run.ts";
import { saveOptions } from "../run/saved-options.ts";
import type { Sink } from "../run/sink.ts";
import { type LegacyPlaces, legacyOptions } from "./baremetal/legacy-clients.ts";
import type { HostMoved } from "./host-moves.ts";
import { openTarget } from "./open-target.ts";
import type { MoveTarget } from "./target.ts";

/** @throws MigrationError N2I-E317 if no machine can be moved, N2I-E315 for a takeover plan */
export function moveHosts(
  variant: MoveTarget["variant"],
  options: LegacyPlaces & { readonly run: string },
  sink: Sink,
): Promise<HostMoved> {
  return inRun(options.run, "host move", { kind: "takeover", variant }, (run) =>
    closing(async (keep) => {
      const plan = await presentMoves(run);
      checkMode(run, plan, variant);
      await checkMovable(plan);
      await checkWindow(run, "host move");
      // The move needs the plan's options for boot files.
      const allOptions = variant === "baremetal" ? await legacyOptions(run, options) : options;
      const target = await openTarget(variant, allOptions, keep, { readOnly: false }, sink.report);
      await saveOptions(run, "host", allOptions);
      await sink.confirm(target.question(plan.manifest));
      return target.move(run, plan, sink);
    }),
  );
}

/** @throws MigrationError N2I-E315 for the plan of a takeover, or for the other kind of machines */
function checkMode(
  { path }: RunFolder,
  { manifest: { mode, nova_bm } }: MovePlan,
  variant: MoveTarget["variant"],
): void {
  if (variant === "baremetal" && nova_bm === undefined)
    throw new MigrationError("N2I-E315", `${path} moves machines of Ironic`, {
      fix: "Omit --nova-bm-db, or create a new plan with host plan.",
    });
  if (mode === "move") return;
  // The host was neither watched nor confirmed as down.
  const by =
    nova_bm === undefined ? "Resume with host takeover" : "Its agent or host takeover resumes it";
  throw new MigrationError("N2I-E315", `${path} takes over a dead host`, {
    fix: `${by}, or create a new plan with host plan.`,
  });
}

/** @throws MigrationError N2I-E317 with the reasons, N2I-E306 for a plan without machines */
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
  throw new MigrationError("N2I-E317", listed([...texts], NAMES, "; "));
}
