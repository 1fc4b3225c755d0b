import { counted } from "../lib/text.ts";
import type { RowVerdict } from "../model/artefact.ts";
import type { Keep } from "../run/databases.ts";
import type { RunFolder } from "../run/files/run-folder.ts";
import type { MovePlan } from "../run/host-files.ts";
import type { Sink } from "../run/sink.ts";
import { type LegacyPlaces, openLegacyClients } from "./baremetal/legacy-clients.ts";
import { moveLegacy } from "./baremetal/legacy-move.ts";
import { compareMoves, judgeLegacy } from "./compare.ts";
import { openHostClients } from "./host-clients.ts";
import { type HostMoved, performMoves } from "./host-moves.ts";
import type { Compared, MoveTarget } from "./target.ts";

export interface OpenTarget extends MoveTarget {
  /** The question before a plan is performed. */
  readonly question: (manifest: MovePlan["manifest"]) => string;
  readonly move: (run: RunFolder, plan: MovePlan, sink: Sink) => Promise<HostMoved>;
  /** Compares each machine of these plans with its planned state, the present plan first. */
  readonly compare: (facts: Compared) => AsyncIterable<RowVerdict>;
}

/** @throws MigrationError as `openHostClients`, and for nova-baremetal as `openLegacyClients` */
export async function openTarget(
  variant: MoveTarget["variant"],
  words: LegacyPlaces,
  keep: Keep,
  how: { readonly readOnly: boolean },
  say: (text: string) => void,
): Promise<OpenTarget> {
  if (variant === "ironic") {
    const place = await openHostClients(words, keep, how, say);
    return {
      ...place,
      question({ counts: { computes, instances, verdicts }, from, to }) {
        const rows = counted(computes + instances, "row");
        return `Change ${rows} of ${place.database.shown}: ${counted(verdicts.move, "machine")} of ${names(from)} move to ${to.join(", ")}?`;
      },
      move: (run, plan, sink) => performMoves(run, place, plan, sink),
      compare: (facts) => compareMoves(place, facts),
    };
  }
  const place = await openLegacyClients(words, keep, how, say);
  return {
    ...place,
    question: ({ counts: { verdicts }, from, to }) =>
      `Move ${counted(verdicts.move, "machine")} of ${names(from)} to ${to.join(", ")} in ${place.leases.shown} and ${place.database.shown}?`,
    move: (run, plan, sink) => moveLegacy(run, place, plan, sink),
    compare: (facts) => judgeLegacy(place, facts),
  };
}

function names(hosts: MovePlan["manifest"]["from"]): string {
  return hosts.map(({ host }) => host).join(", ");
}
