import { novaCommands } from "../core/switchover/steps.ts";
import type { RunFolder } from "../edge/disk/run-folder.ts";
import { switchCalls } from "../edge/ironic-rest/switch-calls.ts";
import type { WindowSession } from "../engine/window.ts";
import type { Left } from "../model/change.ts";
import { MigrationError, orNull } from "../model/error.ts";
import { type Fenced, SWITCHOVER, type Switchover } from "../model/switching.ts";
import type { SwitchAt } from "../parts/switch-part.ts";
import type { RestOptions } from "./cloud.ts";
import { failpoint } from "./failpoint.ts";
import { rememberGiven } from "./given-file.ts";
import { askFence } from "./host-fence-command.ts";
import type { ManagePlace } from "./manage-place.ts";
import { nextCommand } from "./next.ts";
import type { RunSession } from "./session.ts";
import type { Sink } from "./sink.ts";
import { recordLost, unmarkLost } from "./switchover-lost.ts";
import type { OpenNova } from "./switchover-nova.ts";
import { isPastReturn, lostIn, named, switchedIn, wasSourceTold } from "./switchover-run.ts";
import { faultsOf } from "./switchover-verify.ts";
import {
  type Halted,
  millisecondsOf,
  switchAt,
  USUAL,
  walkBack,
  walkForward,
} from "./switchover-walk.ts";

/** How a switchover acts. Times are seconds. */
export interface ActWords extends RestOptions {
  readonly run: string;
  readonly softTimeout?: number;
  readonly proofInterval?: number;
  readonly proofTimeout?: number;
  /** A program that ends with 0 once the source is off. */
  readonly fenceCommand?: string;
  /** Somebody saw it. */
  readonly sourceConfirmedOff: boolean;
}

export type Told = Pick<Sink, "say" | "note" | "result">;

/** Ironic, and Nova where its rows are changed. */
export interface SwitchPlace extends ManagePlace {
  readonly nova: OpenNova | null;
}

interface Acting {
  readonly run: RunFolder;
  readonly place: Pick<SwitchPlace, "service" | "nova">;
  readonly session: WindowSession & Pick<RunSession, "signal" | "begin">;
  readonly sink: Told;
  /** Decides anew where the spare is another's, without those that were lost; null: the destination was named. */
  readonly again: ((lost: ReadonlySet<string>) => Promise<Switchover>) | null;
}

/** Spares that others may take from us, one after the other. */
const SPARES = 5;

/**
 * Takes a switchover to its end, from wherever its journal says that it is; a mark that could not be taken off a spare
 * which was lost is then tried once more.
 *
 * @returns whether it came there; false where somebody asked to stop
 * @throws MigrationError N2I-E301, N2I-E380 to N2I-E390
 */
export async function perform(
  words: ActWords,
  first: Switchover,
  acting: Acting,
): Promise<boolean> {
  const { place, session, sink } = acting;
  await session.begin(SWITCHOVER, { address: place.service.identity.address });
  try {
    return await performed(words, first, acting);
  } finally {
    const calls = switchCalls(place.service, failpoint);
    // Why it ended is worth more than a mark.
    const left = await orNull(unmarkLost(calls, session, false));
    for (const { why } of left ?? []) sink.note(why);
  }
}

async function performed(words: ActWords, first: Switchover, acting: Acting): Promise<boolean> {
  const { run, place, session, sink, again } = acting;
  await rememberGiven(run, "node", words, true);
  const isOver =
    switchedIn(session.journal.entries())?.begun.get("switchover-release")?.open === false;
  let plan = first;
  const earlier = lostIn(session.journal.entries()).map(({ destination }) => destination);
  const lost = new Set(earlier);
  for (let tries = 1; ; tries += 1) {
    const at = switchAt(place.service, plan, session.journal.entries, {
      times: millisecondsOf({
        soft: words.softTimeout ?? USUAL.soft,
        interval: words.proofInterval ?? USUAL.interval,
        proof: words.proofTimeout ?? USUAL.proof,
      }),
      now: session.clock.now,
      nova: place.nova,
      fenced: () =>
        words.sourceConfirmedOff ? { proof: "--source-confirmed-off", by: session.by } : null,
    });
    const name = plan.source_name ?? plan.source;
    const prove = (): Promise<Fenced | null> => fencedBy(words, at, session, sink);
    const say = (state: string) => sink.say(`${name}: ${state}`);
    const halted = await begunBy(at, session, () => walkForward(at, session, say, prove));
    if (halted === null) return begunBy(at, session, () => ended(at, sink, isOver));
    if (halted.position === null) return false;
    const isLost = halted.position.taken === "destination" && plan.picked;
    const mayGo = isLost && !wasSourceTold(session.journal.entries()) && tries < SPARES;
    const next = mayGo ? again : null;
    if (!(await failed(at, halted, acting, next !== null)) || next === null) return false;
    plan = await next(lost.add(plan.destination));
  }
}

/** Once the nodes are marked, whatever breaks leaves them so. @throws MigrationError N2I-E301, N2I-E390 */
async function begunBy<T>(
  at: SwitchAt,
  { journal }: WindowSession,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    const switched = switchedIn(journal.entries());
    if (!(cause instanceof MigrationError) || switched === null) throw cause;
    if (cause.code === "N2I-E390") throw cause;
    const isPast = isPastReturn(switched);
    if (cause.code === "N2I-E301" && !isPast) throw cause;
    const text = `node switchover stopped: ${cause.code} ${cause.message}${isPast ? keptOff(at) : ""}`;
    throw new MigrationError(isPast ? "N2I-E390" : "N2I-E301", text, { cause });
  }
}

/** What is to be said of a source until its boot files are gone. */
function keptOff({ plan, keptOf }: SwitchAt): string {
  return keptOf("switchover-clear").length > 0
    ? ""
    : `; keep the source (${plan.source}) off: its boot file still has these volumes`;
}

/** What the site's own fence says, once the BMC does not. */
async function fencedBy(
  { fenceCommand, run }: ActWords,
  { calls, plan }: SwitchAt,
  { signal, by }: Pick<RunSession, "signal" | "by">,
  sink: Told,
): Promise<Fenced | null> {
  if (fenceCommand === undefined) return null;
  const { name } = await calls.node(plan.source);
  try {
    // A name may be the spare's by then; a uuid stays.
    const env = { NOVA2IRONIC_NODE_NAME: typeof name === "string" ? name : "" };
    await askFence({ fenceCommand, from: plan.source, run, env }, signal, sink);
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
 * @returns false where somebody asked to stop meanwhile
 * @throws MigrationError N2I-E301, N2I-E381, N2I-E388 to N2I-E390
 */
async function failed(
  at: SwitchAt,
  { step, position }: NonNullable<Halted>,
  { run, session, sink }: Acting,
  isLost: boolean,
): Promise<boolean> {
  const { why = [], unproven, taken, code } = position ?? {};
  const text = why.join("; ");
  if (unproven === true) throw new MigrationError("N2I-E388", `WAIT_FENCE: ${text}; ${farOf(at)}`);
  const switched = switchedIn(session.journal.entries());
  if (switched !== null && isPastReturn(switched))
    throw new MigrationError("N2I-E390", `${step.name}: ${text}${keptOff(at)}`);
  const wasTold = wasSourceTold(session.journal.entries());
  if (isLost) await recordLost(at, session);
  const left: Left[] = [];
  const isBack = await begunBy(at, session, () =>
    walkBack(at, session, (some) => left.push(...some), isLost ? ["source"] : undefined),
  );
  if (left.length > 0)
    throw new MigrationError(
      "N2I-E301",
      `node switchover stopped: ${text}; not taken back: ${left.map((one) => one.why).join("; ")}`,
      {
        fix: `Settle what is named, then: ${nextCommand("rollback", { run: run.path, all: true })}`,
      },
    );
  if (!isBack) return false;
  if (!isLost) {
    const isLate = taken === undefined || (wasTold && code !== undefined);
    const own = code ?? "N2I-E381";
    const anew = wasTold && at.plan.picked && taken === "destination";
    throw new MigrationError(
      isLate && code !== "N2I-E211" ? "N2I-E389" : own,
      text,
      anew ? { why: AMID, fix: ANEW } : {},
    );
  }
  // What a lock keeps for now is tried again at the end.
  await unmarkLost(at.calls, session, true);
  sink.note(`${text}: the next spare is tried`);
  return true;
}

const AMID = "Once the source was told to power off its spare is not exchanged for another.";
const ANEW =
  "Everything is as it was again. Run the same command once more: it begins anew, and chooses a spare.";

/** How far the volumes went, by the journal. */
function farOf({ plan, keptOf }: SwitchAt): string {
  return keptOf("switchover-volumes").length > 0
    ? `its volumes are, or may be, of node ${plan.destination} already: nobody may power the source on`
    : "nothing was moved";
}

/** @throws MigrationError N2I-E390 where what came of it is not as it should be */
async function ended(at: SwitchAt, sink: Told, isOver: boolean): Promise<boolean> {
  const { plan } = at;
  // What became of it since is verify's to say.
  const facts = isOver ? [] : await faultsOf(at);
  const faults = facts.flatMap(({ what, why }) => (why === null ? [] : [`${what}: ${why}`]));
  if (faults.length > 0) throw new MigrationError("N2I-E390", faults.join("; "));
  // Names were swapped by now: the source's is the destination's.
  const [from, to] = [
    named(plan.source, plan.failed_name ?? plan.source_name),
    named(plan.destination, plan.failed_name === null ? plan.destination_name : plan.source_name),
  ];
  sink.result(`Switchover: instance ${plan.instance_uuid} of ${from} runs on ${to}.`);
  if (plan.keep_source)
    sink.note(
      `Node ${from} is active still, in maintenance. Its boot file, ${plan.source}/config under http_root, has the secrets of volumes that are another's now: keep it off.`,
    );
  if (plan.leave_nova) for (const line of novaCommands(plan)) sink.result(line);
  if (plan.server?.stopped === true)
    sink.note(
      `Nova has server ${plan.server.uuid} stopped, and switches its machine off once it looks: openstack server start ${plan.server.uuid}`,
    );
  return true;
}
