import { createInterface } from "node:readline/promises";
import type { Acting } from "../../core/apply/apply.ts";
import { digestOnly } from "../../edge/disk/artefact-reader.ts";
import { type Journal, openJournal } from "../../edge/disk/journal.ts";
import type { RunFolder } from "../../edge/disk/run-folder.ts";
import type { PlanHeader, TargetIdentity } from "../../model/artefact.ts";
import { MigrationError } from "../../model/error.ts";
import { EXIT_STATUS } from "../../model/exit.ts";
import { otherServer } from "../../model/same-server.ts";
import type { Seal } from "../../model/secret.ts";
import type { Release, Verifier } from "../../model/target.ts";
import { io } from "../io.ts";
import { withFailpoints } from "./failpoint.ts";
import { onInterrupt } from "./interrupt.ts";
import type { Road } from "./road.ts";
import { SNAPSHOT, whoami } from "./run.ts";

/** Identity fields, besides the server's, that must not have changed between plan and apply. */
const SAME = ["alembic_head", "release"] as const;

/** @throws MigrationError N2I-E300 telling what changed */
export function checkIdentity(planned: TargetIdentity, found: TargetIdentity): void {
  const changed = [
    ...otherServer(planned, found),
    ...SAME.filter((field) => planned[field] !== found[field]),
  ].map((field) => `${field} was ${planned[field]}, is ${found[field]}`);
  if (changed.length > 0)
    throw new MigrationError(
      "N2I-E300",
      `the plan was made for another target: ${changed.join("; ")}`,
      {
        fix: `Give the ${planned.engine === "rest" ? "service" : "--ironic-db"} it was made for, by the same address (/etc/hosts may lead its name to another of its hosts), or plan anew for this one.`,
      },
    );
}

/**
 * A plan for a database says more than REST can carry, and a plan for REST less than rows need.
 *
 * @throws MigrationError N2I-E300
 */
export function checkEngine({ engine }: TargetIdentity, { kind }: Road): void {
  if ((engine === "rest") !== (kind === "rest"))
    throw new MigrationError(
      "N2I-E300",
      engine === "rest"
        ? "the plan was made for REST, and a database is given"
        : "the plan was made for a database, and REST is asked for",
      { fix: "Give the options of the plan, or plan again for this road." },
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
  if (!io().stdin.isTTY || !io().stderr.isTTY)
    throw new MigrationError("N2I-E303", "there is no terminal to ask, and --yes was not given");
  const readline = createInterface({ input: io().stdin, output: io().stderr });
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
  if (/Ctrl\+C/.test(cause.message)) io().status = EXIT_STATUS.interrupted.status;
  io().stderr.write("\n");
  return "";
}

interface Interruptible extends Omit<Acting, "progress"> {
  /** Aborted once the operator asked to stop. */
  readonly signal: AbortSignal;
}

/**
 * Everything that acting on the target needs: the target's lock, the journal, the checks inside
 * the first transaction, and a stop on Ctrl-C after the batch under way.
 */
export async function withActing<T>(
  run: RunFolder,
  road: Road,
  header: PlanHeader,
  seal: Seal,
  source: {
    readonly check: boolean;
    readonly staged?: boolean;
    /** Nodes whose protection finish cleared. */
    readonly unprotected?: ReadonlySet<string>;
  },
  work: (acting: Interruptible, verifier: Verifier) => Promise<T>,
): Promise<T> {
  checkEngine(header.target, road);
  const found = await road.open(header.target.release, seal, {
    staged: source.staged === true,
    ...(source.unprotected !== undefined && { unprotected: source.unprotected }),
  });
  checkIdentity(header.target, found.identity);
  if (source.staged === true) checkReasons(found.release);
  const { target } = found;
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
        ...(source.staged === true && { staged: true as const }),
      });
    return await work(
      {
        target,
        lock,
        journal,
        now: () => new Date().toISOString(),
        by: whoami(),
        staged: source.staged === true,
        stopping: interrupt.stopping,
        signal: interrupt.signal,
        guard: async () => {
          checkIdentity(header.target, await road.identify(header.target.release));
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
