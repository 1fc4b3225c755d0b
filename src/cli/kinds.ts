import type { JsonObject } from "../lib/json.ts";
import { counted } from "../lib/text.ts";
import type { RunFolder } from "../run/files/run-folder.ts";
import { kindOf, type RunAbout } from "../run/files/run-kind.ts";
import { nextCommand } from "../run/next.ts";
import type { Rollback } from "../run/rollback.ts";
import type { Sink } from "../run/sink.ts";
import type { Advice } from "../window/runner/next-step.ts";
import { refuseOptions } from "./commands/given-options.ts";
import { type ListArgs, sinkOf, watchingOf } from "./commands/shared.ts";
import {
  type RollbackArgs,
  rollbackOptions,
  type VerifyArgs,
  verifyOptions,
} from "./options/apply.ts";
import type { Declared, OptionTable } from "./options/declared.ts";
import { HOST, HOSTS_BACK } from "./options/host/actions.ts";
import type { StatusArgs } from "./options/status.ts";
import { EVERY } from "./views/every-row.ts";
import { computesText, takenOverText, UNCOMPARED, verifiedText } from "./views/verify.ts";

/** A kind of run for the commands. Its code is loaded when it is called. */
interface RunKind {
  readonly status: (
    run: RunFolder,
    args: StatusArgs,
  ) => Promise<{
    readonly fields: JsonObject;
    readonly next: string;
    readonly excluded?: readonly string[];
  }>;
  readonly advice: (run: RunFolder) => Promise<Advice>;
  /** @throws MigrationError N2I-E100 for an option that this kind does not have */
  readonly verify: (args: VerifyArgs) => Promise<RunVerified>;
  /** @throws MigrationError N2I-E100 for an option that this kind does not have */
  readonly rollback: (args: RollbackArgs, report: Sink["report"]) => Promise<Rollback>;
}

/** @throws MigrationError N2I-E110, N2I-E113 */
export async function kindFor(run: RunFolder): Promise<RunKind> {
  const about = await kindOf(run);
  return KINDS[about.kind](about);
}

const KINDS: { readonly [kind in RunAbout["kind"]]: (about: RunAbout) => RunKind } = {
  migration: () => ({
    status: async (run, args) =>
      (await import("../window/runner/run-state.ts")).runState(run, args),
    advice: async (run) => (await import("../window/runner/next-step.ts")).advice(run),
    async verify(args) {
      refuseOptions("verify of this run", ["nova-bm-db", "queue-purged"]);
      return args.takeover ? takenOver(args) : compared(args);
    },
    async rollback(args, report) {
      refuseOptions("rollback of this run", ["nova-bm-db", "fence-command"]);
      const { migrationBack } = await import("../migrate/rollback/rollback.ts");
      return migrationBack(args, watchingOf(args, report));
    },
  }),
  takeover: ({ variant = "ironic" }) => ({
    ...stateOf(
      async (run) => (await import("../takeover/host-status.ts")).hostState(run),
      ({ move, fence }) => `${move}; fenced: ${fence}`,
    ),
    async verify(args) {
      refuseOptions("verify of a run between hosts", unused(verifyOptions, HOST.verify.options));
      return verifiedBy(args, (await import("../takeover/host-verify.ts")).verifyHosts);
    },
    async rollback(args) {
      const used = variant === "baremetal" ? { ...HOSTS_BACK, "nova-bm-db": {} } : HOSTS_BACK;
      refuseOptions("rollback of a run between hosts", unused(rollbackOptions, used));
      return (await import("../takeover/host-back.ts")).hostsBack(variant, args);
    },
  }),
  switchover: () => ({
    ...stateOf(
      async ({ path }) => (await import("../switchover/switchover-run.ts")).switchState(path),
      ({ source, state }) => `${source}: ${state}`,
    ),
    async verify(args) {
      refuseOptions("verify of this run", ["nova-bm-db"]);
      return verifiedBy(args, (await import("../switchover/switchover-back.ts")).verifySwitched);
    },
    async rollback(args) {
      refuseOptions("rollback of this run", ["nova-bm-db"]);
      return (await import("../switchover/switchover-back.ts")).switchoverBack(args);
    },
  }),
  manage: () => ({
    ...stateOf(
      async ({ path }) => (await import("../manage/manage-run.ts")).managedState(path),
      ({ managed, open }) => `${managed}; ${open}`,
    ),
    async verify(args) {
      refuseOptions("verify of this run", ["nova-bm-db"]);
      return verifiedBy(args, (await import("../manage/manage-back.ts")).verifyManaged);
    },
    async rollback(args) {
      refuseOptions("rollback of this run", ["nova-bm-db", "fence-command"]);
      return (await import("../manage/manage-back.ts")).managedBack(args);
    },
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
      const { adviceOf } = await import("../window/runner/next-step.ts");
      return adviceOf(run, found, reasonOf(found.fields));
    },
  };
}

function unused({ options = {} }: Declared, used: OptionTable): readonly string[] {
  return Object.keys(options).filter((name) => !(name in used));
}

export interface RunVerified {
  readonly texts: readonly string[];
  readonly equal: boolean;
}

/** Verifies a run that is not a migration, and lists its rows. */
export async function verifiedBy<A extends ListArgs & { readonly run: string }>(
  args: A,
  verify: (args: A, sink: Sink) => Promise<{ readonly validated: number; readonly wrong: number }>,
): Promise<RunVerified> {
  const { validated, wrong } = await verify(args, sinkOf({ ...args, every: EVERY.verify(args) }));
  const text = `Verify: ${counted(validated, "row")} validated, ${wrong} mismatched.`;
  return { texts: [text], equal: wrong === 0 };
}

async function compared(args: VerifyArgs): Promise<RunVerified> {
  const { verifyRun } = await import("../migrate/verify/verify.ts");
  const { isEqual } = await import("../migrate/verify/rules/tally.ts");
  const verified = await verifyRun(args, sinkOf({ ...args, every: EVERY.verify(args) }));
  const { computes, novaSkipped, nova } = verified;
  const texts = [...verifiedText(verified, args.allRows), ...(novaSkipped ? [UNCOMPARED] : [])];
  if (nova !== null && nova.awaited + nova.unreported > 0)
    texts.push(`Next: ${nextCommand("verify", args, { final: true })}`);
  if (computes === null) return { texts, equal: isEqual(verified) };
  const { logs, faults } = computes;
  return {
    texts: [...texts, computesText(logs, faults)],
    equal: isEqual(verified) && faults === 0,
  };
}

async function takenOver(args: VerifyArgs): Promise<RunVerified> {
  const { verifyTakeover } = await import("../window/handover/handover.ts");
  const sink = sinkOf({ ...args, every: EVERY.verify(args) });
  const { states, logs, faults, equal } = await verifyTakeover(args, sink);
  return { texts: takenOverText(states, logs, faults), equal };
}
