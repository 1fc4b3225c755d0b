import { nodeName } from "../core/switchover/spares.ts";
import { novaCommands, stepRows } from "../core/switchover/steps.ts";
import { readJournal } from "../edge/disk/journal.ts";
import type { RunFolder } from "../edge/disk/run-folder.ts";
import type { Left } from "../model/change.ts";
import { MigrationError } from "../model/error.ts";
import {
  type Fenced,
  SWITCHOVER,
  type Switchover,
  type SwitchStepRow,
} from "../model/switching.ts";
import type { HardwareDifference } from "../model/switchover.ts";
import type { SwitchAt } from "../parts/switch-part.ts";
import type { RestOptions } from "./cloud.ts";
import { closing } from "./databases.ts";
import { loadIdentical } from "./documents.ts";
import { rememberGiven } from "./given-file.ts";
import { askFence } from "./host-fence-command.ts";
import { type ManagePlace, openManagePlace } from "./manage-place.ts";
import { inRun } from "./run.ts";
import { type RunSession, withSession } from "./session.ts";
import type { Sink } from "./sink.ts";
import { decide, type SwitchAsked } from "./switchover-plan.ts";
import { checkSwitches, checkSwitchPlace, isPastReturn, switchedIn } from "./switchover-run.ts";
import { faultsOf } from "./switchover-verify.ts";
import {
  type Halted,
  millisecondsOf,
  switchAt,
  USUAL,
  walkBack,
  walkForward,
} from "./switchover-walk.ts";

/** What `node switchover` is told. Times are seconds. */
export interface SwitchWords extends SwitchAsked, RestOptions {
  readonly run: string;
  readonly dryRun: boolean;
  readonly softTimeout?: number;
  readonly proofInterval?: number;
  readonly proofTimeout?: number;
  /** A program that ends with 0 once the source is off. */
  readonly fenceCommand?: string;
  /** Somebody saw it. */
  readonly sourceConfirmedOff: boolean;
  /** A document in place of mappings/identical.json. */
  readonly identical?: string;
}

/** How the two tables of a preview are shown. */
interface SwitchShows {
  readonly steps: (rows: readonly SwitchStepRow[]) => Promise<void>;
  readonly differences: (rows: readonly HardwareDifference[]) => Promise<void>;
}

type Told = Pick<Sink, "say" | "note" | "result">;

/**
 * Lets the instance of one machine go on on a spare: its volumes, VIFs and name move there. The same words go on
 * where it was stopped. What is refused before the spare is deployed is taken back at once.
 *
 * @returns whether it came to its end; false where somebody asked to stop
 * @throws MigrationError N2I-E100, N2I-E306, N2I-E315, N2I-E380 to N2I-E391
 */
export function switchOver(words: SwitchWords, shows: SwitchShows, sink: Told): Promise<boolean> {
  checkWords(words);
  if (words.dryRun) return closing((keep) => preview(words, keep, shows, sink));
  return inRun(words.run, "node switchover", { create: true }, (run) =>
    closing(async (keep) => {
      const { entries } = await readJournal(run);
      await checkSwitches(run, entries);
      const place = await openManagePlace(words, keep, sink.say);
      checkSwitchPlace(entries, place.service.identity.address);
      const known = switchedIn(entries)?.plan;
      if (known !== undefined) checkSame(known, words);
      const first = known ?? (await decided(words, place, shows)).plan;
      return withSession(
        run,
        (session) => perform(words, first, { run, place, session, sink, shows }),
        {
          afterWindow: true,
        },
      );
    }),
  );
}

/** @throws MigrationError N2I-E100 */
function checkWords({ fenceCommand, sourceConfirmedOff }: SwitchWords): void {
  if (fenceCommand !== undefined && sourceConfirmedOff)
    throw new MigrationError(
      "N2I-E100",
      "--fence-command and --source-confirmed-off exclude each other",
    );
}

/** @throws MigrationError N2I-E100 where a run that began is given other nodes */
function checkSame(plan: Switchover, { source, destination }: SwitchWords): void {
  const is = (said: string, uuid: string, name: string | null): boolean =>
    said.toLowerCase() === uuid || said === name;
  if (
    is(source, plan.source, plan.source_name) &&
    (destination === undefined || is(destination, plan.destination, plan.destination_name))
  )
    return;
  throw new MigrationError(
    "N2I-E100",
    `this run switches ${plan.source_name ?? plan.source} over to ${plan.destination_name ?? plan.destination}; give another a --run of its own`,
  );
}

async function decided(words: SwitchWords, { service }: ManagePlace, shows: SwitchShows) {
  return decide(
    service,
    await loadIdentical(words.identical),
    words,
    shows.differences,
    Date.now(),
  );
}

async function preview(
  words: SwitchWords,
  keep: Parameters<typeof openManagePlace>[1],
  shows: SwitchShows,
  sink: Told,
): Promise<boolean> {
  const place = await openManagePlace(words, keep, sink.say);
  const { plan, source, destination } = await decided(words, place, shows);
  await shows.steps(stepRows(plan, source, destination));
  sink.note(
    `${nodeName(destination)} is identical to ${nodeName(source)}. Nothing was changed, and there is no run.`,
  );
  return true;
}

interface Acting {
  readonly run: RunFolder;
  readonly place: ManagePlace;
  readonly session: RunSession;
  readonly sink: Told;
  readonly shows: SwitchShows;
}

/** Spares that others may take from us, one after the other. */
const SPARES = 5;

async function perform(words: SwitchWords, first: Switchover, acting: Acting): Promise<boolean> {
  const { run, place, session, sink, shows } = acting;
  await session.begin(SWITCHOVER, { address: place.service.identity.address });
  await rememberGiven(run, "node", words, true);
  let plan = first;
  for (let tries = 1; ; tries += 1) {
    const at = switchAt(place.service, plan, session.journal.entries, {
      times: millisecondsOf({
        soft: words.softTimeout ?? USUAL.soft,
        interval: words.proofInterval ?? USUAL.interval,
        proof: words.proofTimeout ?? USUAL.proof,
      }),
      now: session.clock.now,
      fenced: () =>
        words.sourceConfirmedOff ? { proof: "--source-confirmed-off", by: session.by } : null,
    });
    const name = plan.source_name ?? plan.source;
    const prove = (): Promise<Fenced | null> => fencedBy(words, name, session, sink);
    const halted = await walkForward(at, session, (state) => sink.say(`${name}: ${state}`), prove);
    if (halted === null) return ended(at, words, sink);
    if (halted.position === null) return false;
    const isLost = halted.position.taken === "destination" && words.destination === undefined;
    await failed(at, halted, acting, isLost && tries < SPARES);
    plan = (await decided(words, place, shows)).plan;
  }
}

/** What the site's own fence says, once the BMC does not. */
async function fencedBy(
  { fenceCommand, run }: SwitchWords,
  from: string,
  { signal, by }: Pick<RunSession, "signal" | "by">,
  sink: Told,
): Promise<Fenced | null> {
  if (fenceCommand === undefined) return null;
  try {
    await askFence({ fenceCommand, from, run }, signal, sink);
  } catch (cause) {
    if (!(cause instanceof MigrationError) || cause.code !== "N2I-E316") throw cause;
    sink.note(cause.message);
    return null;
  }
  return { proof: "--fence-command", by };
}

/**
 * Ends what did not go on: before the spare is deployed it is taken back.
 *
 * @param isLost the spare is another's now: the next one is tried
 * @throws MigrationError N2I-E301, N2I-E381, N2I-E388 to N2I-E390
 */
async function failed(
  at: SwitchAt,
  { step, position }: NonNullable<Halted>,
  { session, sink }: Acting,
  isLost: boolean,
): Promise<void> {
  const { why = [], unproven, taken } = position ?? {};
  const text = why.join("; ");
  if (unproven === true) throw new MigrationError("N2I-E388", `WAIT_FENCE: ${text}`);
  const switched = switchedIn(session.journal.entries());
  if (switched !== null && isPastReturn(switched))
    throw new MigrationError("N2I-E390", `${step.name}: ${text}`);
  const left: Left[] = [];
  const isBack = await walkBack(at, session, (some) => left.push(...some));
  if (left.length > 0 || !isBack)
    throw new MigrationError(
      "N2I-E301",
      `node switchover stopped: ${text}; not taken back: ${left.map((one) => one.why).join("; ") || "the rest"}`,
    );
  if (isLost) return sink.note(`${text}: the next spare is tried`);
  throw new MigrationError(taken === undefined ? "N2I-E389" : "N2I-E381", text);
}

/** @throws MigrationError N2I-E390 where what came of it is not as it should be */
async function ended(at: SwitchAt, words: SwitchWords, sink: Told): Promise<boolean> {
  const { plan } = at;
  const faults = (await faultsOf(at)).flatMap(({ what, why }) =>
    why === null ? [] : [`${what}: ${why}`],
  );
  if (faults.length > 0) throw new MigrationError("N2I-E390", faults.join("; "));
  const [from, to] = [plan.source_name ?? plan.source, plan.destination_name ?? plan.destination];
  sink.result(
    `Switchover: instance ${plan.instance_uuid} of ${from} runs on ${to} (${plan.destination}).`,
  );
  if (plan.keep_source)
    sink.note(
      `${from} (${plan.source}) is active still, in maintenance. Its boot file, ${plan.source}/config under http_root, has the secrets of volumes that are another's now: keep it off.`,
    );
  if (words.leaveNova) for (const line of novaCommands(plan)) sink.result(line);
  return true;
}
