import { spawn } from "node:child_process";
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { MigrationError } from "../lib/error.ts";
import { atExit } from "../lib/files/at-exit.ts";
import { shellArgument } from "../lib/text.ts";
import { openRole } from "../run/databases.ts";
import { loadTables } from "../run/files/load-tables.ts";
import { packageRoot, programCommand } from "../run/files/package-root.ts";
import { processContext } from "../run/process-context.ts";
import { createTables } from "../systems/database/create-tables.ts";
import { digestOfRows } from "../systems/database/digest.ts";

type Print = (text: string) => void;

/** Digest of a SQLite database, including ids. */
async function digest(path: string): Promise<string> {
  const database = await openRole("ironic-db", `sqlite:///${path}`, { readOnly: true });
  try {
    return await digestOfRows(database);
  } finally {
    await database.close();
  }
}

/**
 * Runs the migration of a sample deployment in a temporary folder, command by command, and checks
 * the result of each.
 *
 * @param keep a folder to keep, with the report of the run; default: a temporary one, which is
 * deleted
 * @returns whether every check succeeded
 * @throws MigrationError N2I-E120 if the folder cannot be written, N2I-E100 if `keep` is not empty
 */
export async function demo(print: Print, keep?: string): Promise<boolean> {
  const folder = folderOf(keep);
  const temporary = keep === undefined ? folder : join(folder, "output.txt");
  const remove = (): void => rmSync(temporary, { recursive: true, force: true });
  const cancelCleanup = atExit(remove);
  const proofs: (readonly [string, boolean])[] = [];
  const run = async (status: number, what: string, ...argv: readonly string[]): Promise<string> => {
    print(`\n$ nova2ironic ${argv.map(shellArgument).join(" ")}`);
    const { code, out } = await command(folder, argv);
    print(out.trimEnd());
    if (code !== status) print(`(exit ${code}, expected ${status})`);
    proofs.push([`${argv[0]} (exit ${status}): ${what}`, code === status]);
    return out;
  };
  try {
    await play({ folder, run, print, prove: (what, passed) => void proofs.push([what, passed]) });
    if (keep !== undefined) await run(0, "writes the report", "report", "--run", "run");
  } finally {
    remove();
    cancelCleanup();
  }
  print("\nProved:");
  for (const [what, passed] of proofs) print(`  ${passed ? "yes" : "NO "}  ${what}`);
  const path = join(folder, "run");
  const note = "The BMC addresses in it are examples: do not run power. Its report:";
  if (keep !== undefined) print(`\nThe run is in ${path}. ${note}\n${join(path, "report.html")}`);
  return proofs.every(([, passed]) => passed);
}

/** @throws MigrationError N2I-E100, N2I-E120 */
function folderOf(keep: string | undefined): string {
  const folder = resolve(processContext().cwd(), keep ?? tmpdir());
  try {
    if (keep === undefined) return mkdtempSync(join(folder, "nova2ironic-demo-"));
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    if (readdirSync(folder).length === 0) return folder;
  } catch (cause) {
    return unwritable(folder)(cause);
  }
  const fix = "Specify a new folder with --keep.";
  throw new MigrationError("N2I-E100", `${folder} is not empty`, { fix });
}

function unwritable(where: string): (cause: unknown) => never {
  return (cause) => {
    const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
    if (!/^(E[A-Z]+|SQLITE_(FULL|IOERR|READONLY|CANTOPEN).*)$/.test(code)) throw cause;
    const fix = "Specify a different folder (--keep, or TMPDIR), or free up space there.";
    throw new MigrationError("N2I-E120", `cannot write ${where} (${code})`, { cause, fix });
  };
}

interface Scene {
  readonly folder: string;
  /** Runs a command, checks its exit status, and returns its output. */
  readonly run: (status: number, what: string, ...argv: readonly string[]) => Promise<string>;
  readonly print: Print;
  readonly prove: (what: string, passed: boolean) => void;
}

async function play({ folder, run, print, prove }: Scene): Promise<void> {
  const { nova, ironic, ...sample } = await writeSample(folder).catch(unwritable(folder));
  const at = ["--run", "run"];
  // The sample has no running nova-compute, so a short watch is enough.
  const to = [...at, ...ironic, ...nova, "--watch", "1"];
  const target = join(folder, "ironic.sqlite");
  const empty = await digest(target);
  print(`A nova-baremetal deployment of 20 machines, some of them with problems, in ${folder}`);
  await run(0, "reads nova_bm, nova and nova.conf", "extract", ...at, ...sample.extract);
  const planning = [...at, ...ironic, ...nova, ...sample.plan];
  await run(0, "shows the rows that Ironic would get", "plan", ...planning);
  await run(0, "shows one machine field by field, with origins", "show", "run/plan", "--diff", "1");
  prove("plan did not write anything to Ironic", (await digest(target)) === empty);
  await run(4, "refuses while machines are blocked", "apply", ...to, "--yes");
  prove("the refused apply did not write anything", (await digest(target)) === empty);
  const skips = ["apply", ...to, "--yes", "--skip-blocked"];
  await run(3, "loads the other machines and lists the skipped ones", ...skips);
  const loaded = await digest(target);
  await run(0, "finds every row as planned", "verify", ...at, ...ironic, ...nova);
  const again = await run(3, "runs again", ...skips);
  const unchanged = again.includes("Apply: 0 rows created") && (await digest(target)) === loaded;
  prove("a second apply changes nothing", unchanged);
  await run(0, "shows the state of the run and the next command", "status", ...at);
  await run(0, "rolls everything back", "rollback", ...to, "--all", "--yes");
  prove("after rollback, Ironic has the same digest as before", (await digest(target)) === empty);
}

/** Runs a command. stdout and stderr go to one file, which keeps their order. */
function command(
  cwd: string,
  argv: readonly string[],
): Promise<{ readonly code: number; readonly out: string }> {
  const path = join(cwd, "output.txt");
  const file = openSync(path, "w", 0o600);
  return new Promise((resolve, reject) => {
    const [node, ...main] = programCommand();
    const child = spawn(node, [...main, ...argv], { cwd, stdio: ["ignore", file, file] });
    const cancelCleanup = atExit(() => child.kill("SIGKILL"));
    child.on("error", reject);
    child.on("close", (code) => {
      cancelCleanup();
      closeSync(file);
      resolve({ code: code ?? 70, out: readFileSync(path, "utf8") });
    });
  });
}

const DATABASES = ["nova_bm", "nova", "ironic"] as const;

/** fixtures/demo/sample.json, which `npm run test:update` makes from the case next to it. */
interface Sample {
  readonly databases: {
    readonly [name in (typeof DATABASES)[number]]: {
      readonly version: number | string;
      readonly rows: { readonly [table: string]: readonly object[] };
    };
  };
  /** Texts of nova.conf by host. */
  readonly nova_conf: { readonly [host: string]: string };
  readonly site: object;
}

/** SQLite limits the values of a statement. */
const ROWS_AT_ONCE = 50;

/**
 * Writes the sample deployment.
 *
 * @returns the arguments of `extract`, `plan` and all commands that need Ironic or Nova, with paths
 *   relative to the folder
 */
export async function writeSample(folder: string) {
  const text = readFileSync(join(packageRoot(), "fixtures", "demo", "sample.json"), "utf8");
  // Part of the package, and compared with its case by a test.
  const { databases, nova_conf, site } = JSON.parse(text) as Sample;
  for (const name of DATABASES) {
    const path = join(folder, `${name}.sqlite`);
    writeFileSync(path, "", { mode: 0o600 });
    const how = { readOnly: false, autocommit: true };
    const { knex, close } = await openRole("ironic-db", `sqlite:///${path}`, how);
    const { version, rows } = databases[name];
    try {
      await createTables(knex, loadTables(name, version), { engine: "sqlite" });
      for (const [table, all] of Object.entries(rows))
        await knex.batchInsert(table, [...all], ROWS_AT_ONCE);
    } finally {
      await close();
    }
  }
  const confs = Object.entries(nova_conf).flatMap(([host, conf], at) => {
    writeFileSync(join(folder, `nova-${at}.conf`), conf, { mode: 0o600 });
    return ["--nova-conf", `${host}=nova-${at}.conf`];
  });
  writeFileSync(join(folder, "site.json"), JSON.stringify(site, null, 2));
  const nova = ["--nova-db", "sqlite:///nova.sqlite"];
  return {
    extract: ["--nova-bm-db", "sqlite:///nova_bm.sqlite", ...nova, ...confs],
    plan: ["--site", "site.json", "--ironic-release", String(databases.ironic.version)],
    ironic: ["--ironic-db", "sqlite:///ironic.sqlite"],
    nova,
  };
}
