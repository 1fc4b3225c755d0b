import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openDatabase } from "../edge/database/open.ts";
import { digestDatabase } from "../edge/ironic-db/digest.ts";
import type { Case } from "./case.ts";
import { packageRoot } from "./package-root.ts";
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
 */
export async function demo(main: string, say: Say): Promise<boolean> {
  const folder = mkdtempSync(join(tmpdir(), "nova2ironic-demo-"));
  const proofs: (readonly [string, boolean])[] = [];
  const run = async (status: number, ...words: readonly string[]): Promise<string> => {
    say(
      `\n$ nova2ironic ${words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word}'`)).join(" ")}`,
    );
    const { code, out } = await command(main, words);
    say(out.trimEnd());
    if (code !== status) say(`(exit ${code}, expected ${status})`);
    proofs.push([`${words[0]} exits ${status}`, code === status]);
    return out;
  };
  try {
    const sample = await writeCase(readCase("demo"), folder);
    const at = ["--run", join(folder, "run")];
    const target = join(folder, "ironic.sqlite");
    const empty = await digest(target);
    say(`A nova-baremetal deployment of 20 machines, some of them traps, in ${folder}`);
    await run(0, "extract", ...at, ...sample.extract);
    await run(0, "plan", ...at, ...sample.ironic, ...sample.plan);
    await run(0, "show", join(folder, "run", "plan.jsonl"), "--diff", "1");
    proofs.push(["plan wrote nothing to Ironic", (await digest(target)) === empty]);
    await run(4, "apply", ...at, ...sample.ironic, "--yes");
    proofs.push(["apply refused while machines are blocked", (await digest(target)) === empty]);
    await run(3, "apply", ...at, ...sample.ironic, "--yes", "--skip-blocked");
    const loaded = await digest(target);
    await run(0, "verify", ...at, ...sample.ironic);
    const again = await run(3, "apply", ...at, ...sample.ironic, "--yes", "--skip-blocked");
    proofs.push([
      "a second apply changes nothing",
      again.includes("Apply: 0 rows created") && (await digest(target)) === loaded,
    ]);
    await run(0, "status", ...at);
    await run(0, "rollback", ...at, ...sample.ironic, "--all", "--yes");
    proofs.push([
      "after rollback Ironic is what it was, by digest",
      (await digest(target)) === empty,
    ]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  say("\nProved:");
  for (const [what, held] of proofs) say(`  ${held ? "yes" : "NO "}  ${what}`);
  return proofs.every(([, held]) => held);
}

/** Runs one command; its stdout and stderr, as a terminal would mix them. */
function command(
  main: string,
  words: readonly string[],
): Promise<{ readonly code: number; readonly out: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [main, ...words], { stdio: ["ignore", "pipe", "pipe"] });
    let out = "";
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => {
        out += text;
      });
    child.on("error", reject);
    child.on("close", (code) => resolve({ code: code ?? 70, out }));
  });
}
