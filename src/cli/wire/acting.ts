import { createInterface } from "node:readline/promises";
import type { Acting } from "../../core/apply/apply.ts";
import type { Database } from "../../edge/database/open.ts";
import { digestOnly } from "../../edge/disk/artefact-reader.ts";
import { type Journal, openJournal } from "../../edge/disk/journal.ts";
import type { RunFolder } from "../../edge/disk/run-folder.ts";
import { identifyTarget } from "../../edge/ironic-db/open.ts";
import { createTarget } from "../../edge/ironic-db/target.ts";
import type { PlanHeader, TargetIdentity } from "../../model/artefact.ts";
import { MigrationError } from "../../model/error.ts";
import { EXIT_STATUS } from "../../model/exit.ts";
import type { Seal } from "../../model/secret.ts";
import type { Release } from "../../model/target.ts";
import type { Mappings } from "./documents.ts";
import { failpoint, withFailpoints } from "./failpoint.ts";
import { onInterrupt } from "./interrupt.ts";
import { SNAPSHOT, whoami } from "./run.ts";

/** Identity fields that must not have changed between plan and apply. */
const SAME = ["engine", "address", "database", "server", "alembic_head", "release"] as const;

/** @throws MigrationError N2I-E300 telling what changed */
export function checkIdentity(planned: TargetIdentity, found: TargetIdentity): void {
  const changed = SAME.filter((field) => planned[field] !== found[field]).map(
    (field) => `${field} was ${planned[field]}, is ${found[field]}`,
  );
  if (changed.length > 0)
    throw new MigrationError(
      "N2I-E300",
      `the plan was made for another target: ${changed.join("; ")}`,
      {
        fix: "Give the --ironic-db it was made for, by the same address, or plan anew for this one.",
      },
    );
}

/** @throws MigrationError N2I-E308 when the release cannot tell a staged machine from others */
export function checkReasons({ doc, node }: Release): void {
  if (!node.some(({ name }) => name === "maintenance_reason"))
    throw new MigrationError("N2I-E308", `Ironic ${doc.release} keeps no reason of a maintenance`);
}

/**
 * Asks on a terminal; without one, only `--yes` is a yes.
 *
 * @throws MigrationError N2I-E303
 */
export async function confirm(question: string, yes: boolean): Promise<void> {
  if (yes) return;
  if (!process.stdin.isTTY || !process.stderr.isTTY)
    throw new MigrationError("N2I-E303", "there is no terminal to ask, and --yes was not given");
  const readline = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await readline.question(`${question} Only "yes" is a yes: `).catch(aborted);
    if (answer.trim() !== "yes")
      throw new MigrationError("N2I-E303", "nothing was done", {
        fix: `Run it again, and answer "yes" or give --yes.`,
      });
  } finally {
    readline.close();
  }
}

/** Ctrl-D and Ctrl-C at a question are no answers; after Ctrl-C the status says so too. */
function aborted(cause: unknown): string {
  if (!(cause instanceof Error) || cause.name !== "AbortError") throw cause;
  if (/Ctrl\+C/.test(cause.message)) process.exitCode = EXIT_STATUS.interrupted.status;
  process.stderr.write("\n");
  return "";
}

/**
 * Everything that acting on the target needs: the target's lock, the journal, the checks inside
 * the first transaction, and a stop on Ctrl-C after the batch under way.
 */
export async function withActing<T>(
  run: RunFolder,
  database: Database,
  header: PlanHeader,
  mappings: Mappings,
  seal: Seal,
  source: { readonly check: boolean; readonly staged?: boolean },
  work: (
    acting: Omit<Acting, "progress">,
    verifier: ReturnType<typeof createTarget>["verifier"],
  ) => Promise<T>,
): Promise<T> {
  const found = await identifyTarget(database, mappings, header.target.release);
  checkIdentity(header.target, found.identity);
  const load = { staged: source.staged === true };
  if (load.staged) checkReasons(found.release);
  const target = createTarget(database, found.release, found.identity, seal, failpoint, load);
  const lock = await target.lock();
  const interrupt = onInterrupt();
  let journal: Journal | undefined;
  try {
    journal = withFailpoints(await openJournal(run));
    if (journal.entries().length === 0)
      await journal.append({
        do: "open",
        format: "nova2ironic/journal@1",
        tool: header.tool,
        target: found.identity,
      });
    return await work(
      {
        target,
        lock,
        journal,
        now: () => new Date().toISOString(),
        by: whoami(),
        stopping: interrupt.stopping,
        guard: async () => {
          checkIdentity(
            header.target,
            (await identifyTarget(database, mappings, header.target.release)).identity,
          );
          if (
            source.check &&
            (await digestOnly(`${run.path}/${SNAPSHOT}`)) !== header.made_from.snapshot
          )
            throw new MigrationError(
              "N2I-E300",
              "the snapshot is not the one the plan was made from",
            );
        },
      },
      target.verifier,
    );
  } finally {
    interrupt.end();
    await journal?.close();
    await lock.release();
  }
}
