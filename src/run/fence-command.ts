import { MigrationError } from "../lib/error.ts";
import { quote } from "../lib/quotes.ts";
import { runScript } from "./hooks.ts";
import type { RunSession } from "./session.ts";
import type { Sink } from "./sink.ts";

interface FenceOptions {
  readonly run: string;
  readonly from: string;
  readonly fenceCommand?: string;
  /** In addition to HOME, NOVA2IRONIC_RUN and NOVA2IRONIC_HOST. */
  readonly env?: { readonly [name: string]: string };
}

/** Part name in the journal. */
const COMMAND = "host-fence-command";
/** Maximum seconds. */
const LONGEST = 600;

/**
 * Runs the fence command once per plan. The journal records its start and its success.
 * @param plan digest
 * @throws MigrationError N2I-E316 unless it exits with 0
 */
export async function runFence(
  { fenceCommand, from, run }: FenceOptions,
  plan: string,
  { journal, now, by, signal }: Pick<RunSession, "journal" | "now" | "by" | "signal">,
  { report }: Pick<Sink, "report">,
): Promise<void> {
  if (fenceCommand === undefined) return;
  const about = { part: COMMAND, id: plan };
  const ended = journal
    .entries()
    .some((entry) => entry.do === "end" && entry.part === COMMAND && entry.id === plan);
  if (ended)
    return report(`Fence command for ${from}: it succeeded before, so it is not run again.`);
  await journal.append({ do: "start", ...about, at: now(), by });
  await askFence({ fenceCommand, from, run }, signal, { report });
  await journal.append({ do: "end", ...about, at: now() });
}

/** @throws MigrationError N2I-E316 unless it exits with 0 */
export async function askFence(
  { fenceCommand, from, run, env }: FenceOptions,
  signal: AbortSignal,
  { report }: Pick<Sink, "report">,
): Promise<void> {
  if (fenceCommand === undefined) return;
  report(`Fence command for ${from}: started.`);
  const variables = { NOVA2IRONIC_RUN: run, NOVA2IRONIC_HOST: from, ...env };
  const { lines, fault } = await runScript(
    { name: "--fence-command", program: fenceCommand, args: [from], env: variables },
    LONGEST,
    signal,
  ).catch((cause: unknown) => {
    if (!signal.aborted) throw cause;
    throw new MigrationError(
      "N2I-E316",
      `--fence-command was stopped: ${from} is not confirmed to be down`,
    );
  });
  for (const line of lines) report(`Fence command: ${quote(line)}`);
  if (fault !== null)
    throw new MigrationError(
      "N2I-E316",
      `--fence-command ${fault}: ${from} is not confirmed to be down`,
    );
}
