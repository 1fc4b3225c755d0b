import { MigrationError } from "../lib/error.ts";
import { type RowVerdict, verdictsOf } from "../model/artefact.ts";
import type { RestOptions } from "../run/cloud.ts";
import { closing } from "../run/databases.ts";
import { ENDED, type Rollback, type RollbackOptions, rollbackOf } from "../run/rollback.ts";
import { withSession } from "../run/session.ts";
import type { Sink } from "../run/sink.ts";
import { listVerdicts, type VerifiedRows } from "../run/verified.ts";
import { SWITCH_STATES, SWITCHOVER, type Switchover } from "./rules/switching.ts";
import { switchSteps } from "./steps/switch-steps.ts";
import { runBack, switchAt } from "./switchover-execute.ts";
import { openSwitchClients } from "./switchover-nova.ts";
import { faultsOf, fencedBy } from "./switchover-perform.ts";
import {
  closeTakenBack,
  isPastReturn,
  openSwitched,
  type Switched,
  switchedIn,
} from "./switchover-run.ts";

interface BackOptions extends RestOptions, RollbackOptions {
  readonly novaDb?: string;
  readonly fenceCommand?: string;
}

/** A run has one switchover, so `--node` is optional. @throws MigrationError N2I-E305, N2I-E391 */
export function switchoverBack(options: BackOptions): Rollback {
  const scope = { ...options, all: options.node === undefined };
  return rollbackOf({ kind: "switchover" }, scope, (sink, preview) => ({
    nothing: "this run has no switchover",
    async find(run, entries) {
      const switched = switchedIn(entries);
      if (switched === null && !preview) await closeTakenBack(run, new Date().toISOString());
      if (switched === null) return null;
      checkBack(options, switched);
      return { run, entries, switched };
    },
    async open({ run, entries, switched }, keep) {
      // Placement changes only after rollback is no longer possible.
      const how = { readOnly: preview, placement: false };
      const clients = await openSwitchClients(options, keep, sink.report, entries, how);
      return { run, entries, switched, ...clients };
    },
    question: ({ switched, service }) =>
      `Return volumes and instance to ${nameIn(switched.plan)} at ${service.identity.address}, and power it on if it was on?`,
    back: ({ run, switched: { plan }, nova, service }, reportSkipped) =>
      withSession(
        run,
        async (session) => {
          await session.begin(SWITCHOVER, { address: service.identity.address });
          await closeTakenBack(run, session.now());
          const more = { now: session.clock.now, nova };
          const at = switchAt(service, plan, session.journal.entries, more);
          const prove = () => fencedBy(options, at, plan.destination, session, sink);
          const { skipped, isEnded } = await runBack(at, session, prove);
          reportSkipped(skipped);
          sink.result(
            isEnded && skipped.length === 0
              ? `Rollback: ${nameIn(plan)} is in its former state.`
              : `Rollback: ${skipped.length} left.`,
          );
          return isEnded ? ENDED : null;
        },
        { afterWindow: true },
      ),
    async *previews({ entries, switched: { plan, started }, nova, service }) {
      const at = switchAt(service, plan, () => entries, { nova });
      for (const { name, inspectBack } of switchSteps(at).toReversed()) {
        const [image] = started.get(name)?.observed ?? [];
        if (image === undefined || inspectBack === undefined) continue;
        const { is, reasons } = await inspectBack(image);
        const about = { resource: SWITCH_STATES[name], uuid: plan.source, bm_node_id: null };
        if (is === "before" || is === "partway")
          yield { action: "restore", ...about, reason: null };
        if (reasons.length > 0) yield { action: "leave", ...about, reason: reasons.join("; ") };
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
  const names = [plan.source, plan.source_name];
  const other = node.find((one) => !names.includes(one));
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
  options: RestOptions & {
    readonly run: string;
    readonly allRows?: boolean;
    readonly novaDb?: string;
  },
  sink: Sink,
): Promise<VerifiedRows> {
  return closing(async (keep) => {
    const { entries, switched } = await openSwitched(options.run);
    if (switched === null) throw new MigrationError("N2I-E326", `${options.run} has no switchover`);
    const { plan, started } = switched;
    const how = { readOnly: true };
    const { service, nova } = await openSwitchClients(options, keep, sink.report, entries, how);
    const facts = await faultsOf(switchAt(service, plan, () => entries, { nova }));
    const isOver = started.get("switchover-release")?.open === false;
    const end = isOver ? null : "the switchover is not finished";
    const row = verdictsOf(plan.source);
    const verdicts = async function* (): AsyncGenerator<RowVerdict> {
      for (const [what, fault] of facts) yield row(what, fault);
      yield row("switchover", end);
    };
    return listVerdicts(verdicts(), 1, sink, options.allRows);
  });
}
