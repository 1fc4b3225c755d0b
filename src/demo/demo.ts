import { spawn } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MigrationError } from "../lib/error.ts";
import { atExit } from "../lib/files/at-exit.ts";
import { packageRoot } from "../run/files/package-root.ts";
import { openDatabase } from "../systems/database/open.ts";
import { digestDatabase } from "../systems/ironic-db/digest.ts";
import type { Case } from "./case.ts";
import { writeCase } from "./write-case.ts";

/** What the demo shows to people; the rest is the commands' own output. */
type Say = (text: string) => void;

function readCase(name: string): Case {
  // Part of this package; the fixture tests run it.
  return JSON.parse(
    readFileSync(join(packageRoot(), "fixtures", name, "case.json"), "utf8"),
  ) as Case;
}

/** Digest of a SQLite database, ids included: two equal digests are two equal databases. */
async function digest(path: string): Promise<string> {
  const database = await openDatabase(
    {
      engine: "sqlite",
      host: null,
      port: null,
      socket: null,
      user: null,
      database: path,
      filename: path,
      password: () => null,
      tls: null,
      shown: path,
    },
    { readOnly: true },
  );
  try {
    return await digestDatabase(database, true);
  } finally {
    await database.close();
  }
}

/**
 * Runs the main job on a sample deployment in a temporary folder, command by command as an
 * operator would, and proves after each what it promises.
 *
 * @param main path of the program to run
 * @returns whether everything held
 * @throws MigrationError N2I-E120 where its folder cannot be written
 */
export async function demo(main: string, say: Say): Promise<boolean> {
  const folder = folderIn(tmpdir());
  const gone = atExit(() => rmSync(folder, { recursive: true, force: true }));
  const proofs: (readonly [string, boolean])[] = [];
  const run = async (
    status: number,
    what: string,
    ...words: readonly string[]
  ): Promise<string> => {
    say(
      `\n$ nova2ironic ${words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word}'`)).join(" ")}`,
    );
    const { code, out } = await command(main, folder, words);
    say(out.trimEnd());
    if (code !== status) say(`(exit ${code}, expected ${status})`);
    proofs.push([`${words[0]} (exit ${status}): ${what}`, code === status]);
    return out;
  };
  try {
    await play({ folder, run, say, prove: (what, held) => void proofs.push([what, held]) });
  } finally {
    rmSync(folder, { recursive: true, force: true });
    gone();
  }
  say("\nProved:");
  for (const [what, held] of proofs) say(`  ${held ? "yes" : "NO "}  ${what}`);
  return proofs.every(([, held]) => held);
}

function folderIn(root: string): string {
  try {
    return mkdtempSync(join(root, "nova2ironic-demo-"));
  } catch (cause) {
    return unwritable(root)(cause);
  }
}

/** Says of what cannot be written where that is, and what to do; the sample's databases are files, too. */
function unwritable(where: string): (cause: unknown) => never {
  return (cause) => {
    const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
    if (!/^(E[A-Z]+|SQLITE_(FULL|IOERR|READONLY|CANTOPEN).*)$/.test(code)) throw cause;
    const fix = "Free space there, or name another folder in TMPDIR.";
    throw new MigrationError("N2I-E120", `cannot write ${where} (${code})`, { cause, fix });
  };
}

/** Where the demo plays. */
interface Scene {
  readonly folder: string;
  /** Runs a command, held against its exit status and what that means; gives what it printed. */
  readonly run: (status: number, what: string, ...words: readonly string[]) => Promise<string>;
  readonly say: Say;
  readonly prove: (what: string, held: boolean) => void;
}

async function play({ folder, run, say, prove }: Scene): Promise<void> {
  const written = await writeCase(readCase("demo"), folder).catch(unwritable(folder));
  // Short words to read: the commands run in that folder.
  const short = (words: readonly string[]): readonly string[] =>
    words.map((word) => word.replace(`${folder}/`, ""));
  const sample = {
    extract: short(written.extract),
    ironic: short(written.ironic),
    plan: short(written.plan),
  };
  const nova = after(sample.extract, "--nova-db");
  const at = ["--run", "run"];
  // Its nova-computes are long gone: a second of watching is for show.
  const to = [...at, ...sample.ironic, ...nova, "--watch", "1"];
  const target = join(folder, "ironic.sqlite");
  const empty = await digest(target);
  say(`A nova-baremetal deployment of 20 machines, some of them traps, in ${folder}`);
  await run(0, "reads nova_bm, nova and nova.conf", "extract", ...at, ...sample.extract);
  await run(
    0,
    "shows what Ironic would hold",
    "plan",
    ...at,
    ...sample.ironic,
    ...nova,
    ...sample.plan,
  );
  await run(0, "shows one machine field by field, with origins", "show", "run/plan", "--diff", "1");
  prove("plan wrote nothing to Ironic", (await digest(target)) === empty);
  await run(4, "refuses while machines are blocked", "apply", ...to, "--yes");
  prove("the refused apply wrote nothing", (await digest(target)) === empty);
  await run(
    3,
    "loads the rest and lists who is left out",
    "apply",
    ...to,
    "--yes",
    "--skip-blocked",
  );
  const loaded = await digest(target);
  await run(0, "finds every row as planned", "verify", ...at, ...sample.ironic, ...nova);
  const again = await run(3, "runs again", "apply", ...to, "--yes", "--skip-blocked");
  const unchanged = again.includes("Apply: 0 rows created") && (await digest(target)) === loaded;
  prove("a second apply changes nothing", unchanged);
  await run(0, "says what is true and what comes next", "status", ...at);
  await run(0, "takes everything back", "rollback", ...to, "--all", "--yes");
  prove("after rollback Ironic is what it was, by digest", (await digest(target)) === empty);
}

/** An option of a command line, with its word. */
function after(words: readonly string[], option: string): readonly string[] {
  const at = words.indexOf(option);
  return at < 0 ? [] : words.slice(at, at + 2);
}

/** Runs one command; its stdout and stderr go into one file, so that they stay in order. */
function command(
  main: string,
  cwd: string,
  words: readonly string[],
): Promise<{ readonly code: number; readonly out: string }> {
  const path = join(cwd, "output.txt");
  const file = openSync(path, "w", 0o600);
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [main, ...words], { cwd, stdio: ["ignore", file, file] });
    const gone = atExit(() => child.kill("SIGKILL"));
    child.on("error", reject);
    child.on("close", (code) => {
      gone();
      closeSync(file);
      resolve({ code: code ?? 70, out: readFileSync(path, "utf8") });
    });
  });
}
