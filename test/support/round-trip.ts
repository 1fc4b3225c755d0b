import assert from "node:assert/strict";
import { chmodSync, readFileSync } from "node:fs";
import { cp } from "node:fs/promises";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { Knex } from "knex";
import type { Engine } from "../../src/model/database.ts";
import type { Database } from "../../src/systems/database/open.ts";
import type { Case } from "../cases/case.ts";
import { loadNova, loadNovaBm } from "../cases/load-case.ts";
import { type WrittenCase, writeCase } from "../cases/write-case.ts";
import { privateFolder } from "../hostile/deployment.ts";
import { withDatabase } from "../lab/index.ts";
import { contentOf } from "./content.ts";
import { digestDatabase } from "./digest.ts";
import { openedAt } from "./opened.ts";
import { extracted, planned, targetOf, type Workplace } from "./planned-case.ts";
import { applied, artefact, rolledBack, verified } from "./stages.ts";

export const ENGINES = ["sqlite", "mysql", "postgresql"] as const satisfies readonly Engine[];

/** A database with something in it, open as the tool opens it. */
export async function filled(
  engine: Engine,
  t: TestContext,
  readOnly: boolean,
  fill: (db: Knex) => Promise<void>,
  charset?: string,
): Promise<Database> {
  const place = await withDatabase(engine, t, charset);
  await fill(place.db);
  return openedAt(place.url, t, { readOnly });
}

export async function written(given: Case, t: TestContext): Promise<WrittenCase> {
  return writeCase(given, privateFolder(t));
}

export async function extractedFrom(
  engine: Engine,
  given: Case,
  files: WrittenCase,
  t: TestContext,
  charset?: string,
): Promise<string> {
  const bm = await filled(engine, t, true, (db) => loadNovaBm(db, engine, given, charset), charset);
  const nova = await filled(engine, t, true, (db) => loadNova(db, engine, given));
  const path = join(files.folder, `from-${engine}-${charset ?? "utf8"}`);
  await extracted({ path }, files, bm, nova);
  return path;
}

/** An artefact's lines of machines: neither header nor footer, which name servers. */
export function machines(path: string): readonly string[] {
  return readFileSync(path, "utf8").trimEnd().split("\n").slice(1, -1);
}

export function sameLines(found: readonly string[], wanted: readonly string[], what: string): void {
  found.forEach((line, at) => {
    assert.equal(line, wanted[at], `${what}, line ${at + 1}`);
  });
  assert.equal(found.length, wanted.length, what);
}

export interface Loaded {
  readonly plan: readonly string[];
  readonly content: string;
}

/** Plans, applies, verifies and takes back; the target must be as before, ids included. */
export async function roundTrip(at: Workplace, what: string): Promise<Loaded> {
  const before = await digestDatabase(at.ironic, true);
  const { counts, header } = await planned(at);
  const made = await applied(at);
  assert.ok(counts.nodes > 0, what);
  assert.equal(made.done, counts.nodes + counts.ports, what);
  const {
    tally: { uncleaned: _, ...tally },
  } = await verified(at);
  const left = counts.verdicts.blocked + counts.verdicts.skipped;
  assert.deepEqual(
    tally,
    {
      ...{ validated: made.done, mismatched: 0, missing: 0, extra: 0, suspended: 0 },
      ...{ used: 0, ironics_own: 0, staged: 0, left_out: left },
    },
    what,
  );
  const { release } = await targetOf(at.ironic, header.target.release);
  const content = await contentOf(at.ironic, release);
  const undone = await rolledBack(at);
  assert.deepEqual(
    { removed: undone.done, left: undone.skipped },
    { removed: made.done, left: [] },
  );
  assert.equal(await digestDatabase(at.ironic, true), before, what);
  return { plan: machines(artefact(at, "plan")), content };
}

/** A run of its own on what was extracted, so that journals do not meet. */
export async function runOn(source: string, ironic: Database, written: WrittenCase, name = "") {
  const path = `${source}-on-${ironic.engine}${name}`;
  await cp(source, path, { recursive: true, verbatimSymlinks: true });
  chmodSync(path, 0o700);
  return { run: { path }, written, ironic };
}
