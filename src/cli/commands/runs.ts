import type { JsonObject } from "../../lib/json.ts";
import { counted } from "../../lib/text.ts";
import { openRun, type RunFolder } from "../../run/files/run-folder.ts";
import { kindOf, type RunAbout } from "../../run/files/run-kind.ts";
import { nextCommand } from "../../run/next.ts";
import type { Rollback } from "../../run/rollback.ts";
import type { Sink } from "../../run/sink.ts";
import type { VerifiedRows } from "../../run/verified.ts";
import type { verifyHosts } from "../../takeover/host-verify.ts";
import type { Advice } from "../../window/runner/next-step.ts";
import { refuseOptions } from "../check-options.ts";
import { LOADING, type RollbackArgs, type VerifyArgs } from "../options/apply.ts";
import type { Declared, OptionTable } from "../options/declared.ts";
import { HOST, HOSTS_BACK } from "../options/host/actions.ts";
import type { StatusArgs } from "../options/status.ts";
import { printObject, printView } from "../print/out.ts";
import { EVERY } from "../views/every-row.ts";
import { gatherSkipped } from "../views/skipped-rows.ts";
import { computesText, takenOverText, UNCOMPARED, verifiedText } from "../views/verify.ts";
import {
  exitWith,
  type ListArgs,
  note,
  printMessage,
  printResult,
  sinkOf,
  watchingOf,
} from "./shared.ts";

export const commands = {
  verify: verifyCommand,
  rollback: rollbackCommand,
  status: statusCommand,
  next: nextStepCommand,
  "host verify": verifyHostsCommand,
};

/** A kind of run for the commands. Its code is loaded when it is called. */
interface RunKind {
  /** For a refused option. */
  readonly name: string;
  /** Options that this kind does not have. */
  readonly unsupported: { readonly [command in "verify" | "rollback"]: readonly string[] };
  readonly status: (
    run: RunFolder,
    args: StatusArgs,
  ) => Promise<{
    readonly fields: JsonObject;
    readonly next: string;
    readonly excluded?: readonly string[];
  }>;
  readonly advice: (run: RunFolder) => Promise<Advice>;
  readonly verify: (args: VerifyArgs) => Promise<void>;
  readonly rollback: (args: RollbackArgs, report: Sink["report"]) => Promise<Rollback>;
}

const NAME = "this run";
const BM: readonly string[] = ["nova-bm-db"];

const KINDS: { readonly [kind in RunAbout["kind"]]: (about: RunAbout) => RunKind } = {
  migration: () => ({
    name: NAME,
    unsupported: { verify: [...BM, "queue-purged"], rollback: [...BM, "fence-command"] },
    status: async (run, args) =>
      (await import("../../window/runner/run-state.ts")).runState(run, args),
    advice: async (run) => (await import("../../window/runner/next-step.ts")).advice(run),
    verify: (args) => (args.takeover ? verifyTakenOver(args) : compare(args)),
    async rollback(args, report) {
      const { migrationBack } = await import("../../migrate/rollback/rollback.ts");
      return migrationBack(args, watchingOf(args, report));
    },
  }),
  takeover: ({ variant = "ironic" }) => ({
    name: "a run between hosts",
    unsupported: {
      verify: unused(LOADING.verify, HOST.verify.options),
      rollback: unused(LOADING.rollback, {
        ...HOSTS_BACK,
        ...(variant === "baremetal" && { "nova-bm-db": {} }),
      }),
    },
    ...stateOf(
      async (run) => (await import("../../takeover/host-status.ts")).hostState(run),
      ({ move, fence }) => `${move}; fenced: ${fence}`,
    ),
    verify: verifyHostsCommand,
    rollback: async (args) =>
      (await import("../../takeover/host-back.ts")).hostsBack(variant, args),
  }),
  switchover: () => ({
    ...{ name: NAME, unsupported: { verify: BM, rollback: BM } },
    ...stateOf(
      async ({ path }) => (await import("../../switchover/switchover-run.ts")).switchState(path),
      ({ source, state }) => `${source}: ${state}`,
    ),
    verify: async (args) =>
      verifyWith(args, (await import("../../switchover/switchover-back.ts")).verifySwitched),
    rollback: async (args) =>
      (await import("../../switchover/switchover-back.ts")).switchoverBack(args),
  }),
  manage: () => ({
    ...{ name: NAME, unsupported: { verify: BM, rollback: [...BM, "fence-command"] } },
    ...stateOf(
      async ({ path }) => (await import("../../manage/manage-run.ts")).managedState(path),
      ({ managed, open }) => `${managed}; ${open}`,
    ),
    verify: async (args) =>
      verifyWith(args, (await import("../../manage/manage-back.ts")).verifyManaged),
    rollback: async (args) => (await import("../../manage/manage-back.ts")).managedBack(args),
  }),
};

/** For a run whose next step follows from its state. */
function stateOf<F extends JsonObject>(
  state: (
    run: RunFolder,
  ) => Promise<{ readonly fields: F; readonly next: string; readonly changed: number }>,
  reasonOf: (fields: F) => string,
): Pick<RunKind, "status" | "advice"> {
  return {
    status: state,
    async advice(run) {
      const found = await state(run);
      const { adviceOf } = await import("../../window/runner/next-step.ts");
      return adviceOf(run, found, reasonOf(found.fields));
    },
  };
}

function unused({ options = {} }: Declared, used: OptionTable): readonly string[] {
  return Object.keys(options).filter((name) => !(name in used));
}

/** @throws MigrationError N2I-E110, N2I-E113, N2I-E100 for an option that the kind does not have */
async function opened(path: string, command?: keyof RunKind["unsupported"]) {
  const run = await openRun(path, { create: false });
  const about = await kindOf(run);
  const kind = KINDS[about.kind](about);
  if (command !== undefined) refuseOptions(`${command} of ${kind.name}`, kind.unsupported[command]);
  return { run, kind };
}

async function statusCommand(args: StatusArgs): Promise<void> {
  const { run, kind } = await opened(args.run);
  const { fields, next, excluded = [] } = await kind.status(run, args);
  await printObject(fields, args);
  for (const line of [`Next: ${next}`, ...excluded]) printMessage(args, line);
}

async function nextStepCommand(args: StatusArgs): Promise<void> {
  const { run, kind } = await opened(args.run);
  const { next, reason, takes, undo } = await kind.advice(run);
  await printObject({ next, why: reason, takes, undo }, args);
}

async function verifyCommand(args: VerifyArgs): Promise<void> {
  const { kind } = await opened(args.run, "verify");
  await kind.verify(args);
}

/** `host verify`, which has only the options of such runs. */
async function verifyHostsCommand(args: ListArgs & Parameters<typeof verifyHosts>[0]) {
  await verifyWith(args, (await import("../../takeover/host-verify.ts")).verifyHosts);
}

/** Verifies a run that is not a migration, and lists its rows. */
async function verifyWith<A extends ListArgs & { readonly run: string }>(
  args: A,
  verify: (args: A, sink: Sink) => Promise<VerifiedRows>,
): Promise<void> {
  const { validated, wrong } = await verify(args, sinkOf({ ...args, every: EVERY.verify(args) }));
  note(args, `Verify: ${counted(validated, "row")} validated, ${wrong} mismatched.`);
  if (wrong > 0) exitWith("differs");
}

async function compare(args: VerifyArgs): Promise<void> {
  const { verifyRun } = await import("../../migrate/verify/verify.ts");
  const { isEqual } = await import("../../migrate/verify/rules/used.ts");
  const verified = await verifyRun(args, sinkOf({ ...args, every: EVERY.verify(args) }));
  const { computes, novaSkipped, nova } = verified;
  for (const text of verifiedText(verified, args.allRows)) note(args, text);
  if (novaSkipped) note(args, UNCOMPARED);
  if (nova !== null && nova.awaited + nova.unreported > 0)
    printMessage(args, `Next: ${nextCommand("verify", args, { final: true })}`);
  if (computes !== null) note(args, computesText(computes.logs, computes.faults));
  if (!isEqual(verified) || (computes?.faults ?? 0) > 0) exitWith("differs");
}

async function verifyTakenOver(args: VerifyArgs): Promise<void> {
  const { verifyTakeover } = await import("../../window/handover/handover.ts");
  const sink = sinkOf({ ...args, every: EVERY.verify(args) });
  const { states, logs, faults, equal } = await verifyTakeover(args, sink);
  for (const text of takenOverText(states, logs, faults)) note(args, text);
  if (!equal) exitWith("differs");
}

async function rollbackCommand(args: RollbackArgs): Promise<void> {
  const how = { ...args, every: EVERY.rollback(args) };
  const sink = sinkOf(how);
  const { kind } = await opened(args.run, "rollback");
  const rollback = await kind.rollback(args, sink.report);
  if (args.plan) return rollback.preview(sink);
  const skipped = gatherSkipped(args);
  const ended = await rollback.back(sink, skipped.add).catch(async (cause: unknown) => {
    // Prints the conflicts that were found before the failure.
    if (skipped.any()) await printView(skipped.view(), how);
    throw cause;
  });
  await printView(skipped.view(), how);
  if (ended === null) return;
  for (const note of ended.notes) printResult(args, note);
  if (skipped.any() || ended.noNova) exitWith("differs");
}
