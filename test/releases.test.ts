import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Engine } from "../src/model/database.ts";
import { loadTables, tablesVersions } from "../src/run/files/load-tables.ts";
import { packageRoot } from "../src/run/files/package-root.ts";
import type { Case } from "./cases/case.ts";
import { loadIronic } from "./cases/load-case.ts";
import { runs } from "./hostile/cli.ts";
import { engines } from "./lab/engines.ts";
import { matchesGolden, planText } from "./support/golden.ts";
import {
  extractedFrom,
  filled,
  type Loaded,
  roundTrip,
  runOn,
  sameLines,
  written,
} from "./support/round-trip.ts";

const FOLDER = join(packageRoot(), "fixtures", "releases");
const RELEASES = tablesVersions("ironic").map(String);

/** Ironic's migrations make its tables utf8mb4 from here on. @source facts/ironic.md 1.2 */
const UTF8MB4 = "2026.1";

function caseOf(release: string): Case {
  // The form is the project's own.
  const given = JSON.parse(readFileSync(join(FOLDER, "case.json"), "utf8")) as Case;
  return { ...given, ironic: { release } };
}

/** A plan's lines, without what names a machine or the release, and the records that have each. */
function linesOf(plan: string, release: string): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  let [machine, record] = ["", ""];
  for (const line of plan.split("\n")) {
    machine = /^# machine \S+ \(bm_nodes.id=(\d+)\)/.exec(line)?.[1] ?? machine;
    record = /^# (machine|node|port) /.exec(line)?.[1] ?? record;
    const text = line
      .replace(/^(# (?:machine|node|port)) \S+/, "$1")
      .replace(/bm_nodes\.id=\d+/, "bm_nodes.id=N")
      .replace(/(tenant-|[a-f]0000000-0000-4000-8000-0+)\d+/, "$1N")
      .replace(new RegExp(` ${release}(?= |$)`), " RELEASE")
      .replace(/ {2,}/g, " ");
    // Fields left NULL are only counted; the columns are what test/tables.test.ts looks at.
    if (!/left NULL|^$/.test(text))
      found.set(text, [...(found.get(text) ?? []), `${record} ${machine}`]);
  }
  return found;
}

type Lines = ReturnType<typeof linesOf>;

/** Machines that are loaded: the lines of the others are all gone, and one word says so. */
function loadedIn(lines: Lines): readonly string[] {
  return (lines.get("# node will be created") ?? []).map((record) => record.slice("node ".length));
}

/** What of one release's plan is not in the other's, line by line with its records. */
function gone(from: Lines, to: Lines, sign: string): readonly string[] {
  const alike = (record: string): boolean =>
    record.startsWith("machine") || loadedIn(to).includes(record.slice("node ".length));
  return [...from].flatMap(([line, records]) => {
    const missing = records.filter((each) => !to.get(line)?.includes(each) && alike(each));
    const [kind = ""] = missing[0]?.split(" ") ?? [];
    const numbers = missing.map((each) => each.slice(kind.length + 1)).join(",");
    return missing.length === 0 ? [] : [`${sign} ${line} [${kind} ${numbers}]`];
  });
}

test("the manual and the help of extract and plan name every release", async () => {
  const manual = readFileSync(join(packageRoot(), "src/manual/releases.md"), "utf8");
  for (const command of ["extract", "plan"]) {
    const { out } = await runs(0, [command, "--help"]);
    for (const release of RELEASES) assert.match(out, new RegExp(`\\b${release}\\b`), command);
  }
  for (const release of RELEASES) assert.match(manual, new RegExp(`\\| .*\\b${release}\\b`));
});

/** The engines of this lane. PostgreSQL loads each set of columns once. */
function enginesFor(release: string): readonly Engine[] {
  const columns = (name: string | undefined): string => {
    const { nodes, ports } = loadTables("ironic", name).tables;
    return JSON.stringify([nodes, ports]);
  };
  const before = RELEASES[RELEASES.indexOf(release) - 1];
  return before !== undefined && columns(before) === columns(release)
    ? [...engines("sqlite", "mysql")]
    : [...engines()];
}

test("every release takes machines of every state and gives them back, on every engine alike, and its plan differs from the one before in what was reviewed", async (t) => {
  const parts: (readonly string[])[] = [];
  let before: Lines | undefined;
  const files = await written(caseOf("juno"), t);
  const source = await extractedFrom("sqlite", caseOf("juno"), files, t);
  for (const release of RELEASES)
    await t.test(release, async (inner) => {
      const plan = files.plan.map((word) => (word === "juno" ? release : word));
      let first: Loaded | undefined;
      for (const engine of new Set<Engine>(["sqlite", ...enginesFor(release)])) {
        const ironic = await filled(
          engine,
          inner,
          false,
          (db) => loadIronic(db, engine, caseOf(release)),
          engine !== "mysql" ? undefined : release === UTF8MB4 ? "utf8mb4" : "utf8mb3",
        );
        const at = await runOn(source, ironic, { ...files, plan }, release);
        const loaded = await roundTrip(at, `${release} on ${engine}`);
        if (first === undefined) {
          const lines = linesOf(await planText(at), release);
          // The oldest release's plan stands beside it, whole.
          if (before !== undefined)
            parts.push([
              `=== ${release}`,
              ...gone(before, lines, "-"),
              ...gone(lines, before, "+"),
            ]);
          before = lines;
        }
        first ??= loaded;
        sameLines(loaded.plan, first.plan, `plan for ${engine}`);
        assert.equal(loaded.content, first.content, `rows of ${engine}`);
      }
    });
  matchesGolden(
    join(FOLDER, "expected", "by-release.txt"),
    `${parts.map((lines) => lines.join("\n")).join("\n\n")}\n`,
  );
});
