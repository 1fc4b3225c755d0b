import { MigrationError } from "../lib/error.ts";
import { counted } from "../lib/text.ts";
import { openManageClients } from "../migrate/open/services.ts";
import type { RowVerdict } from "../model/artefact.ts";
import type { SkippedRow } from "../model/change.ts";
import type { RestOptions } from "../run/cloud.ts";
import { closing } from "../run/databases.ts";
import { ENDED, type Rollback, type RollbackOptions, rollbackOf } from "../run/rollback.ts";
import { withSession } from "../run/session.ts";
import type { Sink } from "../run/sink.ts";
import { SWITCH_STATES, SWITCHOVER, type Switchover } from "./rules/switching.ts";
import { switchSteps } from "./steps/switch-steps.ts";
import { runBack, switchAt } from "./switchover-execute.ts";
import { reopenSwitchNova } from "./switchover-nova.ts";
import { fencedBy } from "./switchover-perform.ts";
import {
  checkSwitchClients,
  isPastReturn,
  openSwitched,
  type Switched,
  switchedIn,
} from "./switchover-run.ts";
import { closeTakenBack } from "./switchover-state.ts";
import { faultsOf } from "./switchover-verify.ts";

interface BackOptions extends RestOptions, RollbackOptions {
  readonly novaDb?: string;
  readonly fenceCommand?: string;
}

/** A run has one switchover, so `--node` is optional. @throws MigrationError N2I-E305, N2I-E391 */
export function switchoverBack(words: BackOptions): Rollback {
  const scope = { ...words, all: words.node === undefined };
  return rollbackOf({ kind: "switchover" }, scope, (sink, preview) => ({
    nothing: "this run has no switchover",
    async find(run, entries) {
      const switched = switchedIn(entries);
      if (switched === null && !preview) await closeTakenBack(run, new Date().toISOString());
      if (switched === null) return null;
      checkBack(words, switched);
      return { run, entries, switched };
    },
    async open({ run, entries, switched }, keep) {
      const { plan } = switched;
      const place = await openManageClients(words, keep, sink.say);
      checkSwitchClients(entries, place.service.identity.address);
      // Placement changes only after rollback is no longer possible.
      const how = { readOnly: preview, placement: false };
      const nova = await reopenSwitchNova(plan, words, place, keep, how);
      return { run, entries, switched, nova, service: place.service };
    },
    question: ({ switched, service }) =>
      `Return volumes and instance to ${nameIn(switched.plan)} at ${service.identity.address}, and power it on if it was on?`,
    back: ({ run, switched: { plan }, nova, service }, leave) =>
      withSession(
        run,
        async (session) => {
          await session.begin(SWITCHOVER, { address: service.identity.address });
          await closeTakenBack(run, session.now());
          const more = { now: session.clock.now, nova };
          const at = switchAt(service, plan, session.journal.entries, more);
          const left: SkippedRow[] = [];
          const prove = () => fencedBy(words, at, plan.destination, session, sink);
          const isComplete = await runBack(at, session, (some) => left.push(...some), prove);
          leave(left);
          sink.result(
            isComplete && left.length === 0
              ? `Rollback: ${nameIn(plan)} is in its former state.`
              : `Rollback: ${left.length} left.`,
          );
          return isComplete ? ENDED : null;
        },
        { afterWindow: true },
      ),
    async *previews({ entries, switched: { plan, begun }, nova, service }) {
      const at = switchAt(service, plan, () => entries, { nova });
      for (const { name, lookBack } of switchSteps(at).toReversed()) {
        const [image] = begun.get(name)?.observed ?? [];
        if (image === undefined || lookBack === null) continue;
        const { is, why } = await lookBack(image);
        const about = { resource: SWITCH_STATES[name], uuid: plan.source, bm_node_id: null };
        if (is === "before" || is === "partway") yield { action: "restore", ...about, why: null };
        if (why.length > 0) yield { action: "leave", ...about, why: why.join("; ") };
      }
    },
  }));
}

function nameIn({ source, source_name }: Switchover): string {
  return source_name ?? source;
}

/** @throws MigrationError N2I-E305, N2I-E391 */
function checkBack({ node = [] }: BackOptions, switched: Switched): void {
  const { plan } = switched;
  const known = [plan.source, plan.source_name];
  const other = node.find((one) => !known.includes(one));
  if (other !== undefined)
    throw new MigrationError("N2I-E306", `this run has no switchover of ${other}`);
  if (isPastReturn(switched))
    throw new MigrationError(
      "N2I-E391",
      `the deployment of node ${plan.destination_name ?? plan.destination} with the volumes of ${nameIn(plan)} has started`,
    );
}

/** @throws MigrationError N2I-E326 if the run has no switchover */
export function verifySwitched(
  words: RestOptions & {
    readonly run: string;
    readonly allRows?: boolean;
    readonly novaDb?: string;
  },
  sink: Sink,
): Promise<{ readonly validated: number; readonly wrong: number }> {
  return closing(async (keep) => {
    const { entries, switched } = await openSwitched(words.run);
    if (switched === null) throw new MigrationError("N2I-E326", `${words.run} has no switchover`);
    const { plan, begun } = switched;
    const place = await openManageClients(words, keep, sink.say);
    const { service } = place;
    checkSwitchClients(entries, service.identity.address);
    const how = { readOnly: true, placement: true };
    const nova = await reopenSwitchNova(plan, words, place, keep, how);
    const facts = await faultsOf(switchAt(service, plan, () => entries, { nova }));
    const isOver = begun.get("switchover-release")?.open === false;
    const end = isOver ? null : "the switchover is not finished";
    const rows = [...facts, { what: "switchover", why: end }].map(
      ({ what, why }): RowVerdict => ({
        ...{ resource: what, uuid: plan.source, bm_node_id: null, differs: [], reason: why },
        state: why === null ? "validated" : "mismatched",
      }),
    );
    const validated = rows.filter(({ reason }) => reason === null).length;
    const verdicts = async function* (): AsyncGenerator<RowVerdict> {
      for (const one of rows)
        if (one.state !== "validated" || words.allRows === true) yield await Promise.resolve(one);
    };
    const summary = () => `${counted(validated, "row")} validated`;
    await sink.list("verdicts", verdicts(), { title: "verify", machines: 1, summary });
    return { validated, wrong: rows.length - validated };
  });
}
