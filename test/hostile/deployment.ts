import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { Engine } from "../../src/model/database.ts";
import type { Case } from "../cases/case.ts";
import { loadIronic, loadNova, loadNovaBm, novaConfs } from "../cases/load-case.ts";
import { siteOf } from "../cases/write-case.ts";
import { type TestDatabase, withDatabase } from "../lab/index.ts";
import { onlyUnderLock } from "../support/under-lock.ts";
import { type Ran, run, runs } from "./cli.ts";

/** A deployment on real databases, each with a user of its own who can do no more than needed. */
export interface Deployment {
  readonly engine: Engine;
  /** Private, gone when the test is; the operator's files are in it. */
  readonly folder: string;
  readonly bm: TestDatabase;
  readonly nova: TestDatabase;
  readonly ironic: TestDatabase;
  /** The run's folder: `run` in an own folder that holds nothing else. */
  readonly run: string;
  readonly at: readonly string[];
  /** Options of extract, of users with SELECT only. */
  readonly source: readonly string[];
  /** Ironic, for a user with SELECT only. */
  readonly reader: readonly string[];
  /** Ironic, for a user who may write. */
  readonly writer: readonly string[];
  /** nova's database, for a user who may write; no heartbeats are waited for. */
  readonly novaWriter: readonly string[];
  readonly plan: readonly string[];
  /** User names by role; empty on SQLite. */
  readonly users: { readonly [role: string]: string };
}

interface Charsets {
  readonly bm?: string;
  readonly nova?: string;
  readonly ironic?: string;
}

const WRITER = "SELECT, INSERT, UPDATE, DELETE";

/** A private folder that is gone when the test is. */
export function privateFolder(t: Pick<TestContext, "after">): string {
  const folder = mkdtempSync(join(tmpdir(), "n2i-hostile-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Builds a case on one engine. @param settled gives nova's database another place, its rows with it */
export async function deploy(
  engine: Engine,
  t: TestContext,
  given: Case,
  charsets: Charsets = {},
  settled: (made: TestDatabase) => Promise<TestDatabase> = (made) => Promise.resolve(made),
): Promise<Deployment> {
  const bm = await withDatabase(engine, t, charsets.bm);
  const made = await withDatabase(engine, t, charsets.nova);
  const ironic = await withDatabase(engine, t, charsets.ironic);
  await loadNovaBm(bm.db, engine, given);
  await loadNova(made.db, engine, given, charsets.nova);
  const nova = await settled(made);
  await loadIronic(ironic.db, engine, given);
  for (const written of [nova, ironic]) await onlyUnderLock(written);
  const folder = privateFolder(t);
  mkdirSync(join(folder, "runs"), { mode: 0o700 });
  const users: Record<string, string> = {};
  const file = async (role: string, on: TestDatabase, rights: string): Promise<string> => {
    let { url } = on;
    if (on.server !== null) {
      const account = await on.server.restrictedUser(role, on.name, rights);
      users[role] = account.user;
      ({ url } = account);
    }
    const path = join(folder, `${role}.url`);
    writeFileSync(path, `${url}\n`, { mode: 0o600 });
    return `file:${path}`;
  };
  const confs = novaConfs(given).flatMap(({ host, text }, index) => {
    const path = join(folder, `nova-${index}.conf`);
    writeFileSync(path, text, { mode: 0o600 });
    return ["--nova-conf", host === "*" ? path : `${host}=${path}`];
  });
  const site = join(folder, "site.json");
  // With the decision that no BMC is asked: there are none.
  writeFileSync(site, JSON.stringify(siteOf(given)));
  const run = join(folder, "runs", "run");
  return {
    ...{ engine, folder, bm, nova, ironic, run, users },
    at: ["--run", run],
    source: [
      ...["--nova-bm-db", await file("bm", bm, "SELECT")],
      ...["--nova-db", await file("nova", nova, "SELECT")],
      ...confs,
    ],
    reader: ["--ironic-db", await file("reader", ironic, "SELECT")],
    writer: ["--ironic-db", await file("writer", ironic, WRITER)],
    novaWriter: ["--nova-db", await file("writes", nova, WRITER), "--watch", "0"],
    plan: [
      ...["--site", site],
      ...(given.allow_pairing === true ? ["--allow-pairing"] : []),
      ...((given.ironic?.nodes ?? []).length > 0 ? ["--allow-other-nodes"] : []),
    ],
  };
}

/** A case on SQLite, which needs no server; most of what is refused is refused on every engine. */
export function deployFiles(t: TestContext, given: Case): Promise<Deployment> {
  return deploy("sqlite", t, given);
}

export async function plannedFiles(t: TestContext, given: Case): Promise<Deployment> {
  const made = await deployFiles(t, given);
  await extractAndPlan(made);
  return made;
}

type Acting = Pick<Deployment, "at" | "source" | "reader" | "writer" | "plan">;

/** Extracts, and plans with more options than the deployment's own. @returns how `plan` ended */
export async function extractAndPlan(
  { at, source, reader, plan }: Acting,
  ...more: readonly string[]
): Promise<Ran> {
  await runs(0, ["extract", ...at, ...source, "-q"]);
  const words = ["plan", ...at, ...reader, ...plan, ...more, "-q"];
  const planned = await run(words);
  // 6: it would load no machine.
  assert.ok(planned.status === 0 || planned.status === 6, `${planned.out}${planned.err}`);
  return planned;
}

export async function load(made: Acting): Promise<void> {
  await extractAndPlan(made);
  await runs(0, ["apply", ...made.at, ...made.writer, "--yes", "-q"]);
}
