import { readFileSync, writeFileSync } from "node:fs";
import { Session } from "node:inspector";
import { createRequire } from "node:module";

// Loaded into a process before the program itself: at its end it writes what it did, which is the same on a busy
// machine. V8 counts blocks in what it compiled meanwhile alone, and takes what it kept of an earlier process for that
// unless one of its flags is another one: see COUNTING.

/** What of Node's flags makes V8 compile the program anew. */
export const COUNTING: readonly string[] = ["--no-flush-bytecode", "--import", import.meta.url];

export interface Counts {
  /** Blocks of JavaScript that were entered, Node's own left out. */
  readonly blocks: number;
  /** Operations of SQLite, those of triggers and foreign keys among them. */
  readonly steps: number;
}

interface Libsql {
  readonly prototype: {
    prepare(sql: string): { all(): readonly { readonly n: number | bigint | null }[] };
    close(): void;
  };
}

const path = process.env.N2I_BENCH_COUNTS;
if (path !== undefined) {
  const steps = countSteps();
  const session = new Session();
  session.connect();
  session.post("Profiler.enable");
  session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
  process.once("exit", () => {
    const done = steps();
    session.post("Profiler.takePreciseCoverage", (error, { result }) => {
      if (error !== null) throw error;
      const blocks = result
        .filter(({ url }) => !url.startsWith("node:"))
        .flatMap(({ functions }) => functions.flatMap(({ ranges }) => ranges))
        .reduce((sum, { count }) => sum + count, 0);
      const counts: Counts = { blocks, steps: done };
      writeFileSync(path, JSON.stringify(counts));
    });
  });
}

/**
 * SQLite counts what each prepared statement did for as long as there is one: each is kept until its connection ends.
 * @source sqlite.org/stmt.html; sqlite.org/c3ref/c_stmtstatus_counter.html, SQLITE_STMTSTATUS_VM_STEP
 */
function countSteps(): () => number {
  const { prototype } = createRequire(import.meta.url)("libsql") as Libsql;
  const { prepare, close } = prototype;
  const open = new Map<Libsql["prototype"], object[]>();
  let steps = 0;
  prototype.prepare = function (sql) {
    const statement = prepare.call(this, sql);
    const kept = open.get(this);
    if (kept === undefined) open.set(this, [statement]);
    else kept.push(statement);
    return statement;
  };
  const end = (connection: Libsql["prototype"]): void => {
    const [row] = prepare.call(connection, "SELECT sum(nstep) AS n FROM sqlite_stmt").all();
    steps += Number(row?.n ?? 0);
    open.delete(connection);
  };
  prototype.close = function () {
    end(this);
    close.call(this);
  };
  return () => {
    // What was never closed.
    for (const connection of open.keys()) end(connection);
    return steps;
  };
}

/** @param path what N2I_BENCH_COUNTS named */
export function readCounts(path: string): Counts {
  // Written above.
  return JSON.parse(readFileSync(path, "utf8")) as Counts;
}
