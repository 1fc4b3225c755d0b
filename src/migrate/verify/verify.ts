import { MigrationError } from "../../lib/error.ts";
import { BATCH, regroup } from "../../lib/streams.ts";
import { counted, show } from "../../lib/text.ts";
import type { RowVerdict } from "../../model/artefact.ts";
import type { SameSecret } from "../../model/compare.ts";
import type { Verifier } from "../../model/ironic/target.ts";
import { batchesOf, IRONIC } from "../../model/journal.ts";
import { NOVA_LEGS, type NovaTarget } from "../../model/nova/nova-plan.ts";
import { closing, type Keep, openRole } from "../../run/databases.ts";
import { journalMark, readJournal } from "../../run/files/journal.ts";
import { openRun, type RunFolder } from "../../run/files/run-folder.ts";
import { recordWindow } from "../../run/files/window-file.ts";
import { isRehearsed, openPlan, openSnapshot, PLAN, SNAPSHOT, sealOf } from "../../run/run.ts";
import { listFaults, logsAt } from "../../run/service-logs.ts";
import type { Sink } from "../../run/sink.ts";
import { committed } from "../../systems/database/write.ts";
import { computeFaults, lastStart, type linesOf } from "../../systems/logs/scan.ts";
import {
  locationsIn,
  openComputes,
  openDeleted,
  openTenants,
} from "../../systems/nova-db/by-node.ts";
import { openInstances } from "../../systems/nova-db/instances.ts";
import { checkEngine, checkIdentity } from "../apply/parts.ts";
import { type ConnectionOptions, reopenFlavorApi } from "../flavors/flavor-api.ts";
import { openAllocated, openProviders } from "../hosts/allocations.ts";
import { type NovaFiles, novaPlanOf } from "../hosts/nova-files.ts";
import { novaTargetOf } from "../hosts/nova-target.ts";
import { choiceOf } from "../hosts/rules/choice.ts";
import type { NovaNow } from "../hosts/rules/computes.ts";
import { ranSince } from "../hosts/rules/running.ts";
import { openBackend, type TargetOptions } from "../open/backend.ts";
import { loadMappings } from "../open/documents.ts";
import { nothingLoads } from "../plan/empty-plan.ts";
import { compareNova, type Inspected } from "./rules/nova.ts";
import {
  comparedOf,
  emptyNovaTally,
  emptyTally,
  isEqual,
  type Used,
  type Verified,
} from "./rules/used.ts";
import { verify } from "./rules/verify.ts";
import { rememberVerified } from "./verified-file.ts";

export interface VerifyRequest extends TargetOptions, ConnectionOptions {
  readonly run: string;
  readonly keyFile?: string;
  readonly placementDb?: string;
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
  const since = await journalMark(run.path);
  const plan = await openPlan(`${run.path}/${PLAN}`);
  const snapshot = await openSnapshot(`${run.path}/${SNAPSHOT}`);
  if (snapshot.footer.sha256 !== plan.header.made_from.snapshot)
    throw new MigrationError("N2I-E114", `${run.path}: the plan belongs to a different snapshot`);
  const seal = await sealOf(run, request.keyFile, plan.header.key);
  const mappings = await loadMappings();
  const lost = snapshot.footer.footer.machines - plan.footer.footer.machines;
  const text = `the plan lacks ${counted(lost, "machine")} of the snapshot`;
  if (lost !== 0) throw new MigrationError("N2I-E114", text);
  return { run, since, plan, seal, mappings };
}

export async function keepVerified(
  { run, since, plan }: Pick<Awaited<ReturnType<typeof openToVerify>>, "run" | "since" | "plan">,
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
        : await openNovaVerifier(run, files, request, keep);
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

/**
 * Opens the Nova of a plan.
 * @throws MigrationError N2I-E202 and N2I-E300 for a different Nova, before the comparison
 */
async function openNovaVerifier(
  run: RunFolder,
  plan: NovaFiles,
  request: VerifyRequest,
  keep: Keep,
) {
  const readOnly = { readOnly: true };
  const database = keep(await openRole("nova-db", request.novaDb, readOnly));
  const target = await novaTargetOf(database, [plan]);
  const flavors = await reopenFlavorApi(plan.header.api, request, true, keep);
  await Promise.all([committed(database), flavors?.committed()]);
  const { placementDb } = request;
  const placement =
    placementDb === undefined ? null : keep(await openRole("placement-db", placementDb, readOnly));
  const beats = await target.beats(plan.counts.stopped);
  const lastBatch = batchesOf((await readJournal(run)).entries, IRONIC).findLast(
    (entry) => entry.do === "begin" && entry.plan === plan.sha256,
  );
  const seconds = lastBatch && (Date.now() - Date.parse(lastBatch.at)) / 1000;
  const ran = ranSince(beats, seconds ?? null);
  const tally = emptyNovaTally(placement !== null);
  const expects: NovaNow["expects"] = (host) => {
    if (host !== null && ran.has(host))
      return `nova-compute of ${show(host)} has reported since the load`;
    if (!request.final) return null;
    tally.unreported += 1;
    return "no nova-compute service reports this node";
  };
  return {
    /** Whether a nova-compute of the plan ran since the load. */
    ran: ran.size > 0,
    tally,
    /** Returns rows with differences, or all rows. */
    async open(how: { readonly all: boolean; readonly used: Used }) {
      const { made_at, compute_hosts } = plan.header;
      const since = made_at.slice(0, 19).replace("T", " ");
      const computesOf = await openComputes(database);
      const now = {
        rows: inspected(plan, target, flavors?.target ?? target),
        ...{ nova: database, instancesOf: openInstances(database), expects },
        onNodes: await openTenants(database),
        ...{ computesOf, locationsOf: locationsIn(computesOf) },
        deletedOf: await openDeleted(database, since),
        providersOf: placement && openProviders(database, placement),
        allocatedOf: placement && openAllocated(placement),
      };
      return compareNova(now, choiceOf(compute_hosts), tally, how);
    },
  };
}

async function* inspected(
  plan: NovaFiles,
  nova: NovaTarget,
  api: NovaTarget,
): AsyncGenerator<readonly Inspected[]> {
  for (const leg of NOVA_LEGS)
    for await (const steps of regroup(plan.steps(leg), BATCH)) {
      const byId = new Map(steps.map((step) => [step.id, step]));
      const states = await (leg === "api" ? api : nova).inspect(steps);
      yield states.flatMap((state) => {
        const step = byId.get(state.id);
        return step === undefined ? [] : [{ step, state }];
      });
    }
}
