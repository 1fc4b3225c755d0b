import { counted } from "../../lib/text.ts";
import { openRun, type RunFolder } from "../../run/files/run-folder.ts";
import { kindOf, type RunAbout } from "../../run/files/run-kind.ts";
import { nextCommand } from "../../run/next.ts";
import type { Rollback } from "../../run/rollback.ts";
import type { Sink } from "../../run/sink.ts";
import type { VerifiedRows } from "../../run/verified.ts";
import { refuseOptions } from "../check-options.ts";
import { LOADING } from "../options/apply.ts";
import { HOST, HOSTS_BACK } from "../options/host/actions.ts";
import { printObject, printView } from "../print/out.ts";
import { EVERY } from "../views/every-row.ts";
import { gatherSkipped } from "../views/skipped-rows.ts";
import { computesText, takenOverText, UNCOMPARED, verifiedText } from "../views/verify.ts";
import {
  type ArgsOf,
  exitWith,
  type ListArgs,
  sinkOf,
  type WatchArgs,
  watchingOf,
} from "./shared.ts";

type StatusArgs = ListArgs &
  Parameters<typeof import("../../window/runner/run-state.ts").runState>[1];

type VerifyArgs = ArgsOf<typeof import("../../migrate/verify/verify.ts").verifyRun> &
  Parameters<typeof import("../../window/handover/handover.ts").verifyTakeover>[0] & {
    readonly takeover: boolean;
  };

type RollbackArgs = WatchArgs &
  ArgsOf<typeof import("../../migrate/rollback/rollback.ts").migrationBack> & {
    readonly plan: boolean;
  };

/** Commands for every kind of run. The code of a kind is loaded when it is called. */
export const commands = {
  async status(args: StatusArgs) {
    const sink = sinkOf(args);
    const { run, kind } = await opened(args.run);
    const state =
      kind === "migration"
        ? await (await import("../../window/runner/run-state.ts")).runState(run, args)
        : await stateOf(run, kind);
    await printObject(state.fields, args);
    const excluded = "excluded" in state ? state.excluded : [];
    for (const line of [`Next: ${state.next}`, ...excluded]) sink.report(line);
  },

  async next(args: ListArgs & { readonly run: string }) {
    const { run, kind } = await opened(args.run);
    const { advice, adviceOf } = await import("../../window/runner/next-step.ts");
    const { next, reason, takes, undo } =
      kind === "migration" ? await advice(run) : await adviceOf(run, await stateOf(run, kind));
    await printObject({ next, why: reason, takes, undo }, args);
  },

  async verify(args: VerifyArgs) {
    const { kind } = await opened(args.run, "verify");
    switch (kind) {
      case "migration":
        return args.takeover ? verifyTakenOver(args) : compare(args);
      case "takeover":
        return commands["host verify"](args);
      case "switchover":
        return listCompared(
          args,
          (await import("../../switchover/switchover-back.ts")).verifySwitched,
        );
      case "manage":
        return listCompared(args, (await import("../../manage/manage-back.ts")).verifyManaged);
    }
  },

  /** It has only the options of such runs. */
  async "host verify"(args: ArgsOf<typeof import("../../takeover/host-verify.ts").verifyHosts>) {
    await listCompared(args, (await import("../../takeover/host-verify.ts")).verifyHosts);
  },

  async rollback(args: RollbackArgs) {
    const how = { ...args, every: EVERY.rollback(args) };
    const sink = sinkOf(how);
    const rollback = await rollbackOf(await opened(args.run, "rollback"), args, sink);
    if (args.plan) return rollback.preview(sink);
    const skipped = gatherSkipped(args);
    const ended = await rollback.back(sink, skipped.add).catch(async (cause: unknown) => {
      // Prints the conflicts that were found before the failure.
      if (skipped.any()) await printView(skipped.view(), how);
      throw cause;
    });
    await printView(skipped.view(), how);
    if (ended === null) return;
    for (const note of ended.notes) sink.result(note);
    if (skipped.any() || ended.noNova) exitWith("differs");
  },
};

/** @throws MigrationError N2I-E110, N2I-E113, N2I-E100 for an option that the kind does not have */
async function opened(path: string, command?: "verify" | "rollback") {
  const run = await openRun(path, { create: false });
  const about = await kindOf(run);
  const name = about.kind === "takeover" ? "a run between hosts" : "this run";
  if (command !== undefined) refuseOptions(`${command} of ${name}`, unsupported(command, about));
  return { run, ...about };
}

function unsupported(command: "verify" | "rollback", { kind, variant }: RunAbout) {
  if (kind === "takeover") {
    const variantOption = variant === "baremetal" && { "nova-bm-db": {} };
    const used = command === "verify" ? HOST.verify.options : { ...HOSTS_BACK, ...variantOption };
    return Object.keys(LOADING[command].options).filter((name) => !(name in used));
  }
  const other = command === "verify" ? "queue-purged" : "fence-command";
  const isOther = command === "verify" ? kind === "migration" : kind !== "switchover";
  return ["nova-bm-db", ...(isOther ? [other] : [])];
}

/** For a run whose next step follows from its state. */
async function stateOf(run: RunFolder, kind: Exclude<RunAbout["kind"], "migration">) {
  switch (kind) {
    case "takeover": {
      const state = await (await import("../../takeover/host-status.ts")).hostState(run);
      return { ...state, reason: `${state.fields.move}; fenced: ${state.fields.fence}` };
    }
    case "switchover": {
      const { switchState } = await import("../../switchover/switchover-run.ts");
      const state = await switchState(run.path);
      return { ...state, reason: `${state.fields.source}: ${state.fields.state}` };
    }
    case "manage": {
      const state = await (await import("../../manage/manage-run.ts")).managedState(run.path);
      return { ...state, reason: `${state.fields.managed}; ${state.fields.open}` };
    }
  }
}

async function rollbackOf(
  { kind, variant = "ironic" }: RunAbout,
  args: RollbackArgs,
  { report }: Pick<Sink, "report">,
): Promise<Rollback> {
  switch (kind) {
    case "migration": {
      const { migrationBack } = await import("../../migrate/rollback/rollback.ts");
      return migrationBack(args, watchingOf(args, report));
    }
    case "takeover":
      return (await import("../../takeover/host-back.ts")).hostsBack(variant, args);
    case "switchover":
      return (await import("../../switchover/switchover-back.ts")).switchoverBack(args);
    case "manage":
      return (await import("../../manage/manage-back.ts")).managedBack(args);
  }
}

/** Verifies a run that is not a migration, and lists its rows. */
async function listCompared<A extends ListArgs & { readonly run: string }>(
  args: A,
  verify: (args: A, sink: Sink) => Promise<VerifiedRows>,
): Promise<void> {
  const sink = sinkOf({ ...args, every: EVERY.verify(args) });
  const { validated, wrong } = await verify(args, sink);
  sink.note(`Verify: ${counted(validated, "row")} validated, ${wrong} mismatched.`);
  if (wrong > 0) exitWith("differs");
}

async function compare(args: VerifyArgs): Promise<void> {
  const sink = sinkOf({ ...args, every: EVERY.verify(args) });
  const { verifyRun } = await import("../../migrate/verify/verify.ts");
  const { isEqual } = await import("../../migrate/verify/rules/used.ts");
  const verified = await verifyRun(args, sink);
  const { computes, novaSkipped, nova } = verified;
  for (const text of verifiedText(verified, args.allRows)) sink.note(text);
  if (novaSkipped) sink.note(UNCOMPARED);
  if (nova !== null && nova.awaited + nova.unreported > 0)
    sink.report(`Next: ${nextCommand("verify", args, { final: true })}`);
  if (computes !== null) sink.note(computesText(computes.logs, computes.faults));
  if (!isEqual(verified) || (computes?.faults ?? 0) > 0) exitWith("differs");
}

async function verifyTakenOver(args: VerifyArgs): Promise<void> {
  const { verifyTakeover } = await import("../../window/handover/handover.ts");
  const sink = sinkOf({ ...args, every: EVERY.verify(args) });
  const { states, logs, faults, equal } = await verifyTakeover(args, sink);
  for (const text of takenOverText(states, logs, faults)) sink.note(text);
  if (!equal) exitWith("differs");
}
