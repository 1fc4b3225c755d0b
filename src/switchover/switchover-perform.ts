import type { WindowSession } from "../engine/window.ts";
import { MigrationError, orMessage } from "../lib/error.ts";
import type { JsonObject } from "../lib/json.ts";
import { inOrder } from "../lib/streams.ts";
import type { RestOptions } from "../run/cloud.ts";
import { askFence } from "../run/fence-command.ts";
import type { RunFolder } from "../run/files/run-folder.ts";
import { nextCommand } from "../run/next.ts";
import { saveOptions } from "../run/saved-options.ts";
import type { RunSession } from "../run/session.ts";
import type { Sink } from "../run/sink.ts";
import { serverSteps } from "./rules/server.ts";
import { novaCommands } from "./rules/steps.ts";
import { type Fenced, SWITCHOVER, type Switchover } from "./rules/switching.ts";
import { bothNodes, isFenced, markOf, reasonFor } from "./steps/switch-guard.ts";
import type { JournalStep, SwitchAt, SwitchPosition } from "./steps/switch-part.ts";
import { runBack, runForward, switchAt, timesOf } from "./switchover-execute.ts";
import type { SwitchClients } from "./switchover-nova.ts";
import { isPastReturn, labelOf, switchedIn } from "./switchover-run.ts";

export type PerformOptions = RestOptions &
  Parameters<typeof timesOf>[0] & {
    readonly run: string;
    readonly fenceCommand?: string;
    readonly sourceConfirmedOff: boolean;
  };

export type Reporting = Pick<Sink, "report" | "note" | "result">;

interface Acting {
  readonly run: RunFolder;
  readonly clients: Pick<SwitchClients, "service" | "nova">;
  readonly session: WindowSession & Pick<RunSession, "signal" | "begin">;
  readonly sink: Reporting;
}

/** @returns false if a signal stopped it @throws MigrationError N2I-E301, N2I-E380 to N2I-E390 */
export async function perform(
  options: PerformOptions,
  plan: Switchover,
  acting: Acting,
): Promise<boolean> {
  const { run, session, sink } = acting;
  const { service, nova } = acting.clients;
  await session.begin(SWITCHOVER, { address: service.identity.address });
  await saveOptions(run, "node", options);
  const isOver =
    switchedIn(session.journal.entries())?.started.get("switchover-release")?.open === false;
  const at = switchAt(service, plan, session.journal.entries, {
    ...{ times: timesOf(options), now: session.clock.now, nova },
  });
  if (options.sourceConfirmedOff)
    at.fence.source = { proof: "--source-confirmed-off", by: session.by };
  const name = plan.source_name ?? plan.source;
  const prove = () => fencedBy(options, at, plan.source, session, sink);
  const reportState = (state: string) => sink.report(`${name}: ${state}`);
  const halted = await afterMarks(at, session, () => runForward(at, session, reportState, prove));
  if (halted === null) return afterMarks(at, session, () => ended(at, sink, isOver));
  if (halted.position !== null) await failed(at, halted.step, halted.position, acting);
  return false;
}

/** @throws MigrationError N2I-E301, N2I-E390 for an error after the nodes are marked */
async function afterMarks<T>(
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
    const text = `node switchover stopped: ${cause.code} ${cause.message}${isPast ? offRecord(at) : ""}`;
    throw new MigrationError(isPast ? "N2I-E390" : "N2I-E301", text, { cause });
  }
}

function offRecord({ plan, recordsOf }: SwitchAt): string {
  return recordsOf("switchover-clear").length > 0
    ? ""
    : `; keep the source (${plan.source}) powered off, because its boot file still refers to these volumes`;
}

/** Runs the site's fence command, if the BMC gives no proof. */
export async function fencedBy(
  { fenceCommand, run }: Pick<PerformOptions, "fenceCommand" | "run">,
  { calls }: Pick<SwitchAt, "calls">,
  node: string,
  { signal, by }: Pick<RunSession, "signal" | "by">,
  sink: Pick<Reporting, "report" | "note">,
): Promise<Fenced | null> {
  if (fenceCommand === undefined) return null;
  const { name } = await calls.read(node);
  // The name may have moved to the spare, so the uuid is passed as well.
  const env = { NOVA2IRONIC_NODE_NAME: typeof name === "string" ? name : "" };
  const asked = askFence({ fenceCommand, from: node, run, env }, signal, sink);
  const fault = await orMessage(asked, "N2I-E316");
  if (fault === undefined) return { proof: "--fence-command", by };
  sink.note(fault);
  return null;
}

/**
 * @returns only if a signal stopped the rollback
 * @throws MigrationError N2I-E301, N2I-E380, N2I-E381, N2I-E384, N2I-E388 to N2I-E390
 */
async function failed(
  at: SwitchAt,
  step: JournalStep,
  { reasons, unproven, taken, code }: SwitchPosition,
  { run, session }: Acting,
): Promise<void> {
  const text = reasons.join("; ");
  if (unproven === true)
    throw new MigrationError("N2I-E388", `WAIT_FENCE: ${text}; ${volumesPosition(at)}`);
  const switched = switchedIn(session.journal.entries());
  if (switched !== null && isPastReturn(switched))
    throw new MigrationError("N2I-E390", `${step.name}: ${text}${offRecord(at)}`);
  const wasReported = at.recordsOf("switchover-power").length > 0;
  // The fence command is for the source and proves nothing about the spare.
  const unfenced = (): Promise<null> => Promise.resolve(null);
  const { skipped, isEnded } = await afterMarks(at, session, () => runBack(at, session, unfenced));
  if (skipped.length > 0)
    throw new MigrationError(
      "N2I-E301",
      `node switchover stopped: ${text}; not rolled back: ${skipped.map((one) => one.reason).join("; ")}`,
      {
        fix: `Resolve the items listed, then: ${nextCommand("rollback", { run: run.path }, { all: true })}`,
      },
    );
  if (!isEnded) return;
  const isLate = taken === undefined || (wasReported && code !== undefined);
  const finalCode = isLate && code !== "N2I-E211" ? "N2I-E389" : (code ?? "N2I-E381");
  const isLost = at.plan.picked && taken === "destination";
  throw new MigrationError(finalCode, text, isLost ? { fix: AGAIN } : {});
}

const AGAIN = "The switchover was rolled back. Run the command again to choose a different spare.";

/** The position of the volumes, from the journal. */
export function volumesPosition({ plan, recordsOf }: Pick<SwitchAt, "plan" | "recordsOf">): string {
  return recordsOf("switchover-volumes").length > 0
    ? `its volumes may already belong to node ${plan.destination}. Do not power the source on`
    : "nothing was moved";
}

/** @throws MigrationError N2I-E390 if the result is not as planned */
async function ended(at: SwitchAt, sink: Reporting, isOver: boolean): Promise<boolean> {
  const { plan } = at;
  // Later changes are reported by verify.
  const facts = isOver ? [] : await faultsOf(at);
  const faults = facts.flatMap(([what, fault]) => (fault === null ? [] : [`${what}: ${fault}`]));
  if (faults.length > 0) throw new MigrationError("N2I-E390", faults.join("; "));
  // The destination now has the source's name.
  const [from, to] = [
    labelOf(plan.source, plan.failed_name ?? plan.source_name),
    labelOf(plan.destination, plan.failed_name === null ? plan.destination_name : plan.source_name),
  ];
  sink.result(`Switchover: instance ${plan.instance_uuid} of ${from} runs on ${to}.`);
  if (plan.leave_nova) for (const line of novaCommands(plan)) sink.result(line);
  if (plan.server?.stopped === true)
    sink.note(
      `server ${plan.server.uuid} is stopped in Nova, and the next power sync powers its machine off. To prevent this, run: openstack server start ${plan.server.uuid}`,
    );
  return true;
}

type SwitchFact = readonly [what: string, fault: string | null];

export async function faultsOf(at: SwitchAt): Promise<readonly SwitchFact[]> {
  const { calls, plan, recordsOf } = at;
  const volumes = (["connectors", "targets"] as const).flatMap((kind) =>
    plan[kind].map(async (uuid): Promise<SwitchFact> => {
      const owner = await calls.ownerOf(kind, uuid);
      const fault = `it belongs to node ${owner ?? "none: it was deleted"}`;
      return [`volume ${kind.slice(0, -1)} ${uuid}`, owner === plan.destination ? null : fault];
    }),
  );
  const [[source, destination], attached, invalid, owned] = await inOrder([
    bothNodes(at),
    calls.vifs(plan.destination),
    calls.invalid(plan.destination),
    inOrder(volumes),
  ]);
  const vifs = recordsOf("switchover-vifs")[0]?.vifs;
  const missing = (Array.isArray(vifs) ? vifs.map(String) : []).filter(
    (vif) => !attached.includes(vif),
  );
  const ran = { provision_state: "active", power_state: "power on" };
  const reason = { maintenance: true, maintenance_reason: reasonFor(plan) };
  const off = !isFenced(at) && { power_state: "power off", provision_state: "available" };
  return [
    [
      `destination ${plan.destination}`,
      unlike(destination, { ...ran, instance_uuid: plan.instance_uuid }),
    ],
    [`validation of ${plan.destination}`, invalid.join("; ") || null],
    [`source ${plan.source}`, unlike(source, { instance_uuid: null, ...reason, ...off })],
    ...owned,
    [`VIFs of ${plan.destination}`, missing.length > 0 ? `without ${missing.join(", ")}` : null],
    ...(await serverFacts(at)),
    ...[source, destination].map(
      (node): SwitchFact => [
        `mark of ${String(node.uuid)}`,
        markOf(node) === undefined ? null : "it was not removed",
      ],
    ),
  ];
}

async function serverFacts({ plan, nova }: SwitchAt): Promise<readonly SwitchFact[]> {
  const { server, source, destination } = plan;
  if (server === null || nova === null) return [];
  const { is, reason } = await nova.inspect(serverSteps(server).free.forth);
  const row = [`server ${server.uuid}`, is === "after" ? null : reason || "task_state"] as const;
  if (nova.placement === null) return [row];
  const state = await nova.placement.stateOf(server.uuid, source, destination);
  const placed = state === "made" ? null : state === "open" ? `it is on ${source}` : state.reason;
  return [row, [`allocation of ${server.uuid}`, placed]];
}

function unlike(node: JsonObject, expected: JsonObject): string | null {
  const whys = Object.entries(expected)
    .filter(([name, value]) => (node[name] ?? null) !== value)
    .map(([name, value]) => `${name} is ${String(node[name] ?? null)}, expected ${String(value)}`);
  return whys.join("; ") || null;
}
