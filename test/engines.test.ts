import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { cp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { Knex } from "knex";
import type { Case } from "../src/demo/case.ts";
import type { Engine } from "../src/demo/create-tables.ts";
import { loadIronic, loadNova, loadNovaBm } from "../src/demo/load-case.ts";
import { type WrittenCase, writeCase } from "../src/demo/write-case.ts";
import type { Database } from "../src/edge/database/open.ts";
import { digestDatabase } from "../src/edge/ironic-db/digest.ts";
import { withDatabase } from "./lab/index.ts";
import { contentOf } from "./support/content.ts";
import { everything } from "./support/everything.ts";
import { extracted, open, planned, targetOf, type Workplace } from "./support/planned-case.ts";
import { applied, artefact, rolledBack, verified } from "./support/stages.ts";

const ENGINES = ["sqlite", "mysql", "postgresql"] as const satisfies readonly Engine[];

/** A database with something in it, open as the tool opens it; null when the server is not there. */
async function filled(
  engine: Engine,
  t: TestContext,
  readOnly: boolean,
  fill: (db: Knex) => Promise<void>,
  charset?: string,
): Promise<Database | null> {
  const place = await withDatabase(engine, t, charset);
  if (place === null) return null;
  await fill(place.db);
  // A URL with a password is taken from a file or an environment only.
  const database = await open("env:URL", readOnly, { URL: place.url });
  t.after(() => database.close());
  return database;
}

async function written(given: Case, t: TestContext): Promise<WrittenCase> {
  const folder = mkdtempSync(join(tmpdir(), "n2i-engines-"));
  chmodSync(folder, 0o700);
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return writeCase(given, folder);
}

/** Extracts a case from one engine; the run's folder, or null when the server is not there. */
async function extractedFrom(
  engine: Engine,
  given: Case,
  files: WrittenCase,
  t: TestContext,
  charset?: string,
): Promise<string | null> {
  const bm = await filled(engine, t, true, (db) => loadNovaBm(db, engine, given, charset), charset);
  const nova = await filled(engine, t, true, (db) => loadNova(db, engine, given));
  if (bm === null || nova === null) return null;
  const path = join(files.folder, `from-${engine}-${charset ?? "utf8"}`);
  await extracted({ path }, files, bm, nova);
  return path;
}

/** An artefact's lines of machines: neither header nor footer, which name servers. */
function machines(path: string): readonly string[] {
  return readFileSync(path, "utf8").trimEnd().split("\n").slice(1, -1);
}

function sameLines(found: readonly string[], wanted: readonly string[], what: string): void {
  found.forEach((line, at) => {
    assert.equal(line, wanted[at], `${what}, line ${at + 1}`);
  });
  assert.equal(found.length, wanted.length, what);
}

interface Loaded {
  readonly plan: readonly string[];
  readonly content: string;
}

/** Plans, applies, verifies and takes back; the target must be as before, ids included. */
async function roundTrip(at: Workplace, what: string): Promise<Loaded> {
  const before = await digestDatabase(at.ironic, true);
  const { counts } = await planned(at);
  const made = await applied(at);
  assert.ok(counts.nodes > 0, what);
  assert.equal(made.created, counts.nodes + counts.ports, what);
  const { tally } = await verified(at);
  const left = counts.verdicts.blocked + counts.verdicts.skipped;
  assert.deepEqual(
    tally,
    {
      ...{ validated: made.created, mismatched: 0, missing: 0, extra: 0, suspended: 0 },
      ...{ ironics_own: 0, staged: 0, left_out: left },
    },
    what,
  );
  const { release } = await targetOf(at.ironic);
  const content = await contentOf(at.ironic, release);
  const undone = await rolledBack(at);
  assert.deepEqual(
    { removed: undone.removed, left: undone.left },
    { removed: made.created, left: [] },
  );
  assert.equal(await digestDatabase(at.ironic, true), before, what);
  return { plan: machines(artefact(at, "plan")), content };
}

/** A run of its own on what was extracted, so that journals do not meet. */
async function runOn(source: string, ironic: Database, files: WrittenCase): Promise<Workplace> {
  const path = `${source}-on-${ironic.engine}`;
  await cp(source, path, { recursive: true });
  chmodSync(path, 0o700);
  return { run: { path }, written: files, ironic };
}

test("every engine gives the same answers, as source and as target", async (t) => {
  const given = everything("juno");
  const files = await written(given, t);
  const sources = new Map<Engine, string>();
  for (const engine of ENGINES) {
    const path = await extractedFrom(engine, given, files, t);
    if (path === null) return;
    sources.set(engine, path);
  }
  let first: Loaded | undefined;
  const snapshot = machines(join(sources.get("sqlite") ?? "", "snapshot.jsonl"));
  for (const [engine, path] of sources)
    sameLines(machines(join(path, "snapshot.jsonl")), snapshot, `snapshot from ${engine}`);
  for (const engine of ENGINES) {
    const ironic = await filled(engine, t, false, (db) => loadIronic(db, engine, given));
    assert.ok(ironic !== null);
    for (const [from, path] of sources) {
      const what = `from ${from} into ${engine}`;
      const loaded = await roundTrip(await runOn(path, ironic, files), what);
      first ??= loaded;
      sameLines(loaded.plan, first.plan, `plan ${what}`);
      assert.equal(loaded.content, first.content, `rows ${what}`);
    }
  }
});

for (const release of ["kilo", "2023.1"] as const)
  test(`every engine holds the same rows of ${release} after a load, and none after its rollback`, async (t) => {
    const given = everything(release);
    const files = await written(given, t);
    const source = await extractedFrom("sqlite", given, files, t);
    assert.ok(source !== null);
    let first: Loaded | undefined;
    for (const engine of ENGINES) {
      const ironic = await filled(engine, t, false, (db) => loadIronic(db, engine, given));
      if (ironic === null) return;
      const loaded = await roundTrip(await runOn(source, ironic, files), `${release} on ${engine}`);
      first ??= loaded;
      sameLines(loaded.plan, first.plan, `plan for ${engine}`);
      assert.equal(loaded.content, first.content, `rows of ${engine}`);
    }
  });

test("a Latin-1 nova_bm reads as any other", async (t) => {
  const given = everything("juno", true);
  const files = await written(given, t);
  const latin1 = await extractedFrom("mysql", given, files, t, "latin1");
  if (latin1 === null) return;
  const plain = await extractedFrom("sqlite", given, files, t);
  assert.ok(plain !== null);
  sameLines(
    machines(join(latin1, "snapshot.jsonl")),
    machines(join(plain, "snapshot.jsonl")),
    "snapshot",
  );
});
