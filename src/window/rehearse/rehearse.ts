import { MigrationError } from "../../lib/error.ts";
import type { Json } from "../../lib/json.ts";
import { counted } from "../../lib/text.ts";
import { checkEngine, checkIdentity } from "../../migrate/apply/parts.ts";
import { type NovaFiles, novaPlanOf } from "../../migrate/hosts/nova-files.ts";
import { checkNova } from "../../migrate/hosts/nova-target.ts";
import { databaseBackend } from "../../migrate/open/backend.ts";
import { loadMappings } from "../../migrate/open/documents.ts";
import { loadable, nothingLoads } from "../../migrate/plan/empty-plan.ts";
import { plansInIronic } from "../../migrate/plan/loaded-plans.ts";
import type { TargetIdentity } from "../../model/artefact.ts";
import { type DatabaseLocation, mayBeSame } from "../../model/database.ts";
import { HEARTBEAT } from "../../model/ironic/service.ts";
import { type NovaIdentity, stepsOf } from "../../model/nova/nova-plan.ts";
import type { Rehearsal } from "../../model/rehearsal.ts";
import type { Seal } from "../../model/secret.ts";
import { closing, openRole } from "../../run/databases.ts";
import { makeInnerRun } from "../../run/files/inner-run.ts";
import { readJournal } from "../../run/files/journal.ts";
import { writeNote } from "../../run/files/run-folder.ts";
import { processContext, surrounded } from "../../run/process-context.ts";
import { inRun, openPlan, PLAN, sealOf } from "../../run/run.ts";
import type { Sink } from "../../run/sink.ts";
import { VERSION, whoami } from "../../run/version.ts";
import { digestOfRows } from "../../systems/database/digest.ts";
import { identify } from "../../systems/database/identity.ts";
import type { Database } from "../../systems/database/open.ts";
import { identifyNova, NOVA_API_TABLES, NOVA_TABLES } from "../../systems/nova-db/plan-open.ts";
import { createNovaTarget } from "../../systems/nova-db/target.ts";
import { DONE, executeAll, type RehearseOptions } from "./rehearsal-commands.ts";
import { REHEARSAL, REHEARSED } from "./rehearsal-file.ts";

/**
 * Runs apply, verify, rollback, apply and verify on copies of Ironic's and Nova's databases that
 * the operator restored from a backup. The plan's databases are not opened.
 * @returns null if it was stopped
 * @throws MigrationError N2I-E300, N2I-E351 for a database that is not such a copy, N2I-E352
 */
export function rehearse(options: RehearseOptions, sink: Sink): Promise<Rehearsal | null> {
  const { ironicDb, novaDb, novaApiDb, skipBlocked, staged, powerMaxAge, keyFile } = options;
  return inRun(options.run, "rehearse", { kind: "migration" }, async (run) => {
    if (ironicDb === undefined)
      throw new MigrationError("N2I-E352", "a copy of Ironic's database is missing (--ironic-db)");
    if (plansInIronic((await readJournal(run)).entries).length > 0)
      throw new MigrationError("N2I-E352", "the machines of this run are already in Ironic");
    const plan = await openPlan(`${run.path}/${PLAN}`);
    const { header, footer } = plan;
    const machines = loadable(footer.footer);
    if (machines === 0) throw nothingLoads(footer.footer, "N2I-E325");
    checkEngine(header.target, { kind: "db" });
    const seal = await sealOf(run, keyFile, header.key);
    const files = await novaPlanOf(run, footer);
    const copies = await openCopies({ ...options, ironicDb }, header.target, files, seal);
    const { databases, nova, labels, digest } = copies;
    await sink.confirm(
      `Load ${counted(machines, "machine")} into ${labels.join(", ")}, roll them back and load them again there?`,
    );
    const inner = await makeInnerRun(run, REHEARSAL);
    const job = {
      ...{ machines, sink, digest },
      options: {
        ...{ run: inner.path, ironicDb, skipBlocked, staged, powerMaxAge },
        leaveNova: !databases.has("nova-db"),
        ...(keyFile && { keyFile }),
        ...(databases.has("nova-db") && novaDb && { novaDb }),
        ...(databases.has("nova-api-db") && novaApiDb && { novaApiDb }),
      },
    };
    const interrupt = processContext().onInterrupt();
    const rehearsed = await surrounded({ ...processContext(), copies: databases }, () =>
      executeAll(job),
    ).finally(interrupt.end);
    if (rehearsed === null || interrupt.stopping()) return null;
    const { stages, refusals, as_before, loaded } = rehearsed;
    const isDone = stages.every(({ result }) => result === DONE);
    const rehearsal: Rehearsal = {
      ...{ format: "nova2ironic/rehearsal@1", tool: VERSION, at: new Date().toISOString() },
      ...{ by: whoami(), plan: footer.sha256, copies: labels, stages, refusals, nova },
      ...{ as_before, loaded },
      held: refusals.length === 0 && as_before === true && isDone,
    };
    await writeNote(run, REHEARSED, rehearsal as unknown as Json); // texts, numbers and lists of them
    return rehearsal;
  });
}

interface Copy {
  readonly role: "ironic-db" | "nova-db" | "nova-api-db";
  readonly spec: string;
  /** The database of the plan that it replaces. */
  readonly planned: TargetIdentity | NovaIdentity;
  /** The tables that are compared before and after. Default: all. */
  readonly tables?: readonly string[];
  /** The names of services that reported within the last minute. */
  readonly running?: (copy: Database) => Promise<readonly string[]>;
}

/**
 * Opens the restored databases read-only, and checks that the plan fits them and no service uses
 * them.
 * @throws MigrationError N2I-E300 for other schemas than the plan's, N2I-E351 for the plan's own
 * databases and for those of running services
 */
async function openCopies(
  options: RehearseOptions & { readonly ironicDb: string },
  target: TargetIdentity,
  files: NovaFiles | null,
  seal: Seal,
) {
  const nova = rehearsedNova(files, options);
  const copies = copiesOf(options, target, nova.left < nova.rows ? files : null, seal);
  const databases = new Map<string, DatabaseLocation>();
  const labels: string[] = [];
  for (const copy of copies) {
    const { address = "", database = "", server = "" } = copy.planned;
    const where: DatabaseLocation = { address, database, server };
    labels.push(await reading(copy, (opened) => checkCopy(copy, { ...opened, originalOf: where })));
    databases.set(copy.role, where);
  }
  return {
    ...{ databases, labels, nova },
    async digest(): Promise<string> {
      const sums: string[] = [];
      for (const copy of copies)
        sums.push(await reading(copy, (database) => digestOfRows(database, copy.tables)));
      return sums.join("\n");
    },
  };
}

/** The rows of Nova that the plan changes, and the reason why they are not rehearsed. */
function rehearsedNova(
  files: NovaFiles | null,
  { novaDb, novaApiDb }: RehearseOptions,
): Rehearsal["nova"] {
  const rows = files === null ? 0 : stepsOf(files.counts);
  const apiMissing = files?.header.api !== undefined && novaApiDb === undefined;
  if (rows === 0 || (novaDb !== undefined && !apiMissing)) return { rows, left: 0, why: null };
  const missing = novaDb === undefined ? "--nova-db" : "--nova-api-db";
  return { rows, left: rows, why: `${missing} is not specified` };
}

function copiesOf(
  { ironicDb, novaDb, novaApiDb }: Parameters<typeof openCopies>[0],
  planned: TargetIdentity,
  nova: NovaFiles | null,
  seal: Seal,
): readonly Copy[] {
  const ironic: Copy = {
    ...{ role: "ironic-db", spec: ironicDb, planned },
    async running(copy) {
      const backend = databaseBackend(copy, await loadMappings());
      const { identity, target } = await backend.open(planned.release, seal);
      checkIdentity(planned, identity);
      const { conductors } = await target.service();
      return conductors.flatMap(({ alive, hostname }) =>
        alive ? [`ironic-conductor ${hostname}`] : [],
      );
    },
  };
  if (nova === null || novaDb === undefined) return [ironic];
  const { header, counts } = nova;
  const cloud: Copy = {
    ...{ role: "nova-db", spec: novaDb, planned: header.target, tables: NOVA_TABLES },
    async running(copy) {
      const identity = await identifyNova(copy);
      checkNova(header.target, identity);
      const beats = await createNovaTarget(copy, identity).beats(counts.stopped);
      return beats.flatMap(({ host, age }) =>
        age !== null && Math.abs(age) < HEARTBEAT ? [`nova-compute ${host}`] : [],
      );
    },
  };
  if (header.api === undefined || novaApiDb === undefined) return [ironic, cloud];
  const api = { role: "nova-api-db", spec: novaApiDb, planned: header.api } as const;
  return [ironic, cloud, { ...api, tables: NOVA_API_TABLES }];
}

/** @returns its address, for people */
async function checkCopy({ role, planned, running }: Copy, copy: Database): Promise<string> {
  const { originalOf: _, ...itself } = copy;
  if (mayBeSame(planned, await identify(itself)))
    throw new MigrationError(
      "N2I-E351",
      `--${role} ${copy.label} is the database that the plan was made for`,
    );
  const services = (await running?.(copy)) ?? [];
  if (services.length > 0)
    throw new MigrationError(
      "N2I-E351",
      `--${role} ${copy.label} has reports of ${services.join(", ")} from the last minute`,
      { fix: "If the backup is that recent, wait a minute. Otherwise, use a different database." },
    );
  return copy.label;
}

function reading<T>({ role, spec }: Copy, work: (database: Database) => Promise<T>): Promise<T> {
  return closing(async (keep) => work(keep(await openRole(role, spec, { readOnly: true }))));
}
