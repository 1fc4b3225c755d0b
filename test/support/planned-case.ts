import { chmodSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { novaRequest } from "../../src/cli/commands/plan.ts";
import { takeSnapshot } from "../../src/migrate/extract/extract.ts";
import { openFlavorApi } from "../../src/migrate/flavors/flavor-api.ts";
import { planNova } from "../../src/migrate/hosts/nova-plan.ts";
import { NO_SITE } from "../../src/migrate/mapping/cross-check.ts";
import { loadMappings, type Mappings } from "../../src/migrate/open/documents.ts";
import { makePlan } from "../../src/migrate/plan/make-plan.ts";
import { sameSecret } from "../../src/model/compare.ts";
import type { Seal } from "../../src/model/secret.ts";
import { closing } from "../../src/run/databases.ts";
import { createSeal } from "../../src/run/files/seal.ts";
import { openPlan, openSnapshot } from "../../src/run/run.ts";
import { readDatabaseAddress } from "../../src/systems/database/database-address.ts";
import { readHostConfigs } from "../../src/systems/database/nova-conf.ts";
import { type Database, openDatabase } from "../../src/systems/database/open.ts";
import { identifyTarget } from "../../src/systems/ironic-db/open.ts";
import { createTarget } from "../../src/systems/ironic-db/target.ts";
import { openTrees } from "../../src/systems/tftp/tree.ts";
import type { Case } from "../cases/case.ts";
import { type WrittenCase, writeCase } from "../cases/write-case.ts";

/** A key of no use to anybody, so that sealed text is the same in every run. */
export const seal = createSeal(Buffer.alloc(32, 7));
export const mappings: Mappings = await loadMappings();

const ROLE = { option: "--db", section: "database", key: "connection" };

export async function open(
  spec: string,
  readOnly: boolean,
  environment: Readonly<Record<string, string>> = {},
): Promise<Database> {
  return openDatabase(await readDatabaseAddress(spec, ROLE, environment), { readOnly });
}

export function after(words: readonly string[], option: string): readonly string[] {
  return words.flatMap((word, at) => (word === option ? [words[at + 1] ?? ""] : []));
}

export interface Workplace {
  readonly run: { readonly path: string };
  readonly written: WrittenCase;
  readonly ironic: Database;
}

/** Writes a case and extracts it; the folder is removed afterwards, whatever happens. */
export async function withCase<T>(given: Case, work: (at: Workplace) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), "n2i-case-"));
  chmodSync(folder, 0o700);
  const databases: Database[] = [];
  const opened = async (spec: string, readOnly: boolean): Promise<Database> => {
    const database = await open(spec, readOnly);
    databases.push(database);
    return database;
  };
  try {
    const written = await writeCase(given, folder);
    const run = { path: join(folder, "run") };
    const bm = await opened(after(written.extract, "--nova-bm-db")[0] ?? "", true);
    const [nova] = after(written.extract, "--nova-db");
    const novaDb = nova === undefined ? null : await opened(nova, true);
    await extracted(run, written, bm, novaDb);
    const ironic = await opened(written.ironic[1] ?? "", false);
    return await work({ run, written, ironic });
  } finally {
    for (const database of databases) await database.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Extracts into a new run folder, with the nova.conf files the case wrote. */
export async function extracted(
  run: Workplace["run"],
  written: Pick<WrittenCase, "extract">,
  bm: Database,
  nova: Database | null,
): ReturnType<typeof takeSnapshot> {
  mkdirSync(run.path, { mode: 0o700 });
  const hosts = await readHostConfigs(after(written.extract, "--nova-conf"), seal);
  const trees = await openTrees(after(written.extract, "--tftp-root"), "--tftp-root");
  return takeSnapshot(run, { bm, nova, hosts, trees }, seal, "2014-12-01T00:00:00.000Z", () => {});
}

/** The row road of an open Ironic database. @param said release, where several share the schema */
export async function targetOf(ironic: Database, said?: string, key: Seal = seal) {
  const { identity, release } = await identifyTarget(ironic, mappings, said);
  const load = { staged: false, lockWait: 0 };
  return {
    release,
    target: createTarget({ database: ironic, release, seal: key }, identity, undefined, load),
  };
}

/**
 * Plans what was extracted; the plan is in the run's folder.
 * @param rest plan as if the service of this database were reached by its API
 */
export async function planned({ run, written, ironic }: Workplace, { rest = false } = {}) {
  const found = await targetOf(ironic, after(written.plan, "--ironic-release")[0]);
  const { release } = found;
  const identity = { ...found.target.identity, engine: "rest" as const };
  const target = rest ? { ...found.target, identity } : found.target;
  const [file] = after(written.plan, "--site");
  const snapshot = await openSnapshot(join(run.path, "snapshot.jsonl"));
  const site = file === undefined ? { site: NO_SITE, sha256: null } : await mappings.site(file);
  const asked = requestedOf(written.plan);
  const [novaApiDb] = after(written.plan, "--nova-api-db");
  const allow = { pairing: written.plan.includes("--allow-pairing") };
  return closing(async (keep) => {
    const nova = asked === null ? null : keep(await open(asked.novaDb, true));
    const api = novaApiDb === undefined ? null : await openFlavorApi(novaApiDb, true, keep);
    const compared =
      asked === null || nova === null
        ? null
        : await planNova({ database: nova, api }, snapshot.header, asked.words, {
            release: release.doc.release,
            now: "2014-12-01T00:00:00.000Z",
          });
    return makePlan(
      run,
      { snapshot, mappings, site, power: null, allow },
      { target, release, same: sameSecret(seal) },
      { nova: compared, each: () => {}, progress: () => {} },
    );
  });
}

function requestedOf(words: readonly string[]) {
  const [novaDb] = after(words, "--nova-db");
  if (novaDb === undefined) return null;
  const one = (option: string) => after(words, option)[0];
  const [flavorImages, deployKernel, deployRamdisk] = [
    ...["--flavor-images", "--deploy-kernel", "--deploy-ramdisk"].map(one),
  ];
  const asked = novaRequest({
    novaDb,
    computeHost: after(words, "--compute-host"),
    flavor: after(words, "--flavor"),
    ...(flavorImages !== undefined && { flavorImages }),
    ...(deployKernel !== undefined && { deployKernel }),
    ...(deployRamdisk !== undefined && { deployRamdisk }),
  });
  return asked === null ? null : { novaDb, words: asked };
}

export function planOf({ run }: Pick<Workplace, "run">) {
  return openPlan(join(run.path, "plan"));
}
