import { setMaxListeners } from "node:events";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { dirname, join, sep } from "node:path";
import { run } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { inMemory } from "./lab/folder.ts";
import type { LabFile } from "./lab/index.ts";
import { type IronicServer, startIronic } from "./lab/ironic/start.ts";
import { GALERA, missingSoftware, missingUnpacked } from "./lab/packages.ts";
import type { Server } from "./lab/server.ts";
import { startMariadb, startPostgres } from "./lab/start.ts";
import { dealt, filesOf, LANES, type Lane, type LaneServer } from "./runner/lanes.ts";
import { type Counted, report } from "./runner/report.ts";

const HERE = dirname(fileURLToPath(import.meta.url));
/** Files that share a process: starting one and loading the program costs more than most files do. */
const FILES_PER_PROCESS = 20;

const USAGE = `node dist/test/run.js LANE ... [--all] [PART ...]
Lanes: ${LANES.map(({ name }) => name).join(" ")}. PART is part of a file's path; --all adds the long files.
`;

/** Runs lanes one after the other, each on servers of its own. */
async function main(words: readonly string[]): Promise<number> {
  const all = words.includes("--all");
  const lanes = LANES.filter(({ name }) => words.includes(name));
  const parts = words.filter(
    (word) => word !== "--all" && !lanes.some(({ name }) => name === word),
  );
  if (lanes.length === 0 || parts.some((part) => part.startsWith("-"))) return fail(USAGE);
  const equipped = lanes.flatMap(({ name }) => (name === "default" ? [] : [name]));
  const missing = missingSoftware(equipped);
  const setup = `Run as root: npm run test:setup -- ${equipped.join(" ")}\n`;
  if (missing.length > 0)
    return fail(
      `Not installed: ${missing.map(({ title }) => title).join(", ")}.
${setup}Or: apt-get install ${missing.flatMap(({ packages }) => packages).join(" ")}\n`,
    );
  const unpacked = missingUnpacked(equipped);
  if (unpacked.some((pack) => pack !== GALERA))
    return fail(`Neither installed nor unpacked: ${unpacked.join(", ")}.\n${setup}`);
  if (unpacked.length > 0) process.stdout.write("Galera is not there: its test does not run.\n");
  const files = testFiles().filter(
    (file) => parts.length === 0 || parts.some((part) => file.includes(part)),
  );
  const total: Counted = { passed: 0, failed: 0, skipped: 0 };
  for (const lane of lanes) {
    const ours = filesOf(lane, files, all || parts.length > 0);
    if (ours.length === 0) continue;
    const counted = await runLane(lane, ours);
    total.passed += counted.passed;
    total.failed += counted.failed;
    total.skipped += counted.skipped;
  }
  if (total.passed + total.failed === 0) return fail(`no test of ${words.join(" ")}\n`);
  const { passed, failed, skipped } = total;
  process.stdout.write(`${passed} passed, ${failed} failed, ${skipped} skipped\n`);
  return failed + skipped > 0 ? 1 : 0;
}

async function runLane(lane: Lane, files: readonly string[]): Promise<Counted> {
  const began = Date.now();
  const folder = mkdtempSync(join(tmpdir(), "n2i-run-"));
  const clear = (): void => rmSync(folder, { recursive: true, force: true });
  process.once("exit", clear);
  // The tables that a service makes are made once a run.
  process.env.N2I_SCHEMAS = join(folder, "schemas");
  const servers = await startServers(lane.servers);
  const ready = (Date.now() - began) / 1000;
  process.stdout.write(
    `== ${lane.name}: ${files.length} files, servers ready in ${ready.toFixed(0)} s\n`,
  );
  const labPath = join(folder, "lab.json");
  writeFileSync(labPath, JSON.stringify(servers.at), { mode: 0o600 });
  // Tests write many small files and databases, and each of them is synced.
  Object.assign(process.env, {
    N2I_LANE: lane.name,
    N2I_LAB: labPath,
    TMPDIR: inMemory() ?? tmpdir(),
  });
  const concurrency = Math.max(1, Math.floor(lane.perProcessor * availableParallelism()));
  const ending = new AbortController();
  // Each process of a lane listens to it.
  setMaxListeners(0, ending.signal);
  const stop = (): void => ending.abort();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, stop);
  const results = run({
    files: [...modules(lane, files, folder)],
    concurrency,
    signal: ending.signal,
    timeout: 2 * FILES_PER_PROCESS * lane.guard * 1000,
  });
  const counted = await report(results, (text) => process.stdout.write(text));
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.off(signal, stop);
  await servers.stop();
  process.off("exit", clear);
  clear();
  const seconds = Math.round((Date.now() - began) / 1000);
  process.stdout.write(
    `== ${lane.name}: ${counted.passed} tests passed, ${counted.failed} failed, ${seconds} s\n`,
  );
  return ending.signal.aborted ? { ...counted, failed: counted.failed + 1 } : counted;
}

function testFiles(): readonly string[] {
  return readdirSync(HERE, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".test.js"))
    .map((name) => name.replaceAll(sep, "/"))
    .toSorted();
}

/** A module for each process, which imports its test files. */
function modules(lane: Lane, files: readonly string[], folder: string): readonly string[] {
  const [untracked, shared] = ["untracked.js", "shared.js"].map((name) =>
    pathToFileURL(join(HERE, "runner", name)),
  );
  const processes = Math.ceil(files.length / FILES_PER_PROCESS);
  return dealt(files, Math.max(processes, Math.min(files.length, availableParallelism()))).map(
    (ours, at) => {
      const module = join(folder, `${lane.name}-${at}.test.mjs`);
      const list = JSON.stringify(ours, null, 2);
      writeFileSync(
        module,
        // Only a module that ends before node:test is loaded can do what untracked does.
        `import "${untracked}";
const { shared } = await import("${shared}");
shared(${list}, ${lane.guard});
`,
      );
      return module;
    },
  );
}

interface Running {
  readonly at: LabFile;
  readonly stop: () => Promise<void>;
}

/** Starts a lane's servers one after the other. */
async function startServers(names: readonly LaneServer[]): Promise<Running> {
  const mariadb = names.includes("mariadb") ? await startMariadb("in memory") : null;
  const postgres = names.includes("postgres") ? await startPostgres("in memory") : null;
  const ironic = names.includes("ironic") && mariadb !== null ? await startIronic(mariadb) : null;
  return {
    at: {
      mariadb: mariadb && coordinates(mariadb),
      postgres: postgres && coordinates(postgres),
      ironic: ironic && whereIs(ironic),
    },
    stop: async () => {
      await ironic?.stop();
      await Promise.all([mariadb?.stop(), postgres?.stop()]);
    },
  };
}

function coordinates(server: Server): LabFile["mariadb"] {
  const { engine, host, port, socket, user, password } = server;
  return { engine, host, port, socket, user, password };
}

function whereIs(server: IronicServer): LabFile["ironic"] {
  const { stop: _stop, wake: _wake, sleep: _sleep, ...at } = server;
  return at;
}

function fail(text: string): number {
  process.stderr.write(text);
  return 1;
}

process.exit(await main(process.argv.slice(2)));
