import { MigrationError } from "../../lib/error.ts";
import { counted } from "../../lib/text.ts";
import type { RowVerdict } from "../../model/artefact.ts";
import type { SameSecret } from "../../model/compare.ts";
import type { Verifier } from "../../model/ironic/target.ts";
import { closing } from "../../run/databases.ts";
import { openRun, type RunFolder } from "../../run/files/run-folder.ts";
import { recordWindow } from "../../run/files/window-file.ts";
import { isRehearsed, openPlan, openSnapshot, PLAN, SNAPSHOT, sealOf } from "../../run/run.ts";
import { listFaults, logsAt } from "../../run/service-logs.ts";
import type { Sink } from "../../run/sink.ts";
import { computeFaults, lastStart } from "../../systems/logs/compute-log.ts";
import type { linesOf } from "../../systems/logs/scan.ts";
import { checkEngine, checkIdentity } from "../apply/ironic-target.ts";
import { novaPlanOf } from "../hosts/nova-files.ts";
import { openBackend, type TargetOptions } from "../open/backend.ts";
import { loadMappings } from "../open/documents.ts";
import { nothingLoads } from "../plan/empty-plan.ts";
import { comparedOf, emptyTally, isEqual, type Verified } from "./rules/tally.ts";
import type { Used } from "./rules/used.ts";
import { verify } from "./rules/verify.ts";
import { rememberVerified, type Since, sinceNow } from "./verified-file.ts";
import { openNovaVerifier } from "./verify-nova.ts";

export interface VerifyRequest extends TargetOptions {
  readonly run: string;
  readonly keyFile?: string;
  readonly novaDb?: string;
  readonly novaApiDb?: string;
  readonly placementDb?: string;
  /** Also list validated rows. */
  readonly allRows: boolean;
  /** The operator confirms that every nova-compute has started. */
  readonly final: boolean;
  /** Logs of nova-computes: `FILE`, or `FILE:LINE` to start there. */
  readonly computeLog?: readonly string[];
}

type Plan = Awaited<ReturnType<typeof openPlan>>;

/** Opens a plan of the current snapshot. @throws MigrationError N2I-E110 to N2I-E114 */
export async function openToVerify(request: Pick<VerifyRequest, "run" | "keyFile">) {
  const run = await openRun(request.run, { create: false, inner: isRehearsed() });
  const since = await sinceNow(run);
  const plan = await openPlan(`${run.path}/${PLAN}`);
  const snapshot = await openSnapshot(`${run.path}/${SNAPSHOT}`);
  if (snapshot.footer.sha256 !== plan.header.made_from.snapshot)
    throw new MigrationError("N2I-E114", `${run.path}: the plan belongs to a different snapshot`);
  const seal = await sealOf(run, request.keyFile, plan.header.key);
  const mappings = await loadMappings();
  const lost = snapshot.footer.footer.machines - plan.footer.footer.machines;
  if (lost !== 0)
    throw new MigrationError(
      "N2I-E114",
      `the plan lacks ${counted(lost, "machine")} of the snapshot`,
    );
  return { run, since, plan, seal, mappings };
}

/** Saves the result, and reports if that is not possible. */
export async function keepVerified(
  { run, since, plan }: { readonly run: RunFolder; readonly since: Since; readonly plan: Plan },
  found: Parameters<typeof rememberVerified>[3],
  { note }: Sink,
): Promise<void> {
  if (!(await rememberVerified(run, plan.footer.sha256, since, found)))
    note("Another command wrote to this run's journal. When it has ended, run verify again.");
}

/** Records that the operator accepted the errors in the logs, so that the check passes. */
export async function acceptLogs(
  opened: Parameters<typeof keepVerified>[0],
  stage: "takeover" | "final",
  logged: string,
  sink: Sink,
): Promise<void> {
  recordWindow(opened.run, { do: "accept", stage: stage, result: logged });
  await keepVerified(opened, { [stage]: true }, sink);
}

/**
 * Compares Ironic, and Nova if passed, with a run's plan, row by row.
 * @returns also whether the plan has Nova and it was not compared; `accept` records that the
 * operator accepted the errors in the logs
 * @throws MigrationError N2I-E326 if there was no row to compare
 */
export async function verifyRun(request: VerifyRequest, sink: Sink) {
  const opened = await openToVerify(request);
  const { run, plan, seal, mappings } = opened;
  const logs = await logsAt(request.computeLog ?? []);
  const files = await novaPlanOf(run, plan.footer);
  const { novaDb } = request;
  if (novaDb !== undefined && files === null)
    throw new MigrationError("N2I-E114", `${run.path}/${PLAN} was made without Nova`);
  const novaSkipped = novaDb === undefined && files !== null;
  const verified = await closing(async (keep) => {
    const nova =
      novaDb === undefined || files === null
        ? null
        : await openNovaVerifier(run, files, { ...request, novaDb }, keep);
    const access = { readOnly: true };
    const backend = keep(await openBackend(request, mappings, access, sink.report));
    checkEngine(plan.header.target, backend);
    const { identity, target } = await backend.open(plan.header.target.release, seal);
    checkIdentity(plan.header.target, identity);
    await backend.committed();
    const settled = request.final || nova?.ran === true;
    const how = { all: request.allRows, settled, nova };
    return compare(plan, target.verifier, backend.same(seal), sink, how);
  });
  const faults = logs.length === 0 ? 0 : await listFaults(logs, startedIn, sink);
  const equal = isEqual(verified) && !novaSkipped && faults === 0;
  const ironic = isEqual({ ...verified, nova: null });
  const found = request.final ? { final: equal } : { rows: equal };
  await keepVerified(opened, { ...found, ironic }, sink);
  return {
    ...{ ...verified, novaSkipped },
    computes: logs.length === 0 ? null : { logs: logs.length, faults },
    accept: (logged: string) => acceptLogs(opened, "final", logged, sink),
  };
}

/** Errors of the last start of nova-compute, from its log. */
async function* startedIn(lines: (from: number) => ReturnType<typeof linesOf>, from: number) {
  const start = await lastStart(lines(1));
  yield* computeFaults(start, lines(Math.max(start?.line ?? 1, from)));
}

interface How {
  readonly all?: boolean;
  /** Nova should manage the machines. */
  readonly settled?: boolean;
  readonly nova?: Awaited<ReturnType<typeof openNovaVerifier>> | null;
  readonly title?: string;
}

/** Compares rows with a plan. @throws MigrationError N2I-E326 if there was no row to compare */
export async function compare(
  { lines, footer }: Pick<Plan, "lines" | "footer">,
  verifier: Verifier,
  same: SameSecret,
  sink: Pick<Sink, "list">,
  { all = false, settled = false, nova = null, title = "verify" }: How = {},
): Promise<Verified> {
  const tally = emptyTally();
  const used: Used = new Map();
  const verdicts = async function* (): AsyncGenerator<RowVerdict> {
    const novaRows = (await nova?.open({ all, used })) ?? null;
    if (novaRows !== null) yield* novaRows.rows();
    const how = { all, settled, used, ...(novaRows !== null && { novaOf: novaRows.machines }) };
    yield* verify(lines, verifier, same, tally, how);
    if (novaRows !== null) yield* novaRows.end();
  };
  await sink.list("verdicts", verdicts(), {
    title,
    machines: footer.footer.machines,
    summary: () => `${counted(tally.validated, "row")} validated`,
  });
  if (comparedOf(tally) === 0) throw nothingLoads(footer.footer);
  return { tally, hidden: verifier.uncompared?.() ?? 0, nova: nova?.tally ?? null };
}
