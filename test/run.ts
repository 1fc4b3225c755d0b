import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, sep } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { prepareTools } from "./lab/bmc/tools.ts";
import { chromiumPath } from "./lab/chromium.ts";
import { cloudPrograms } from "./lab/cloud/programs.ts";
import { inMemory } from "./lab/folder.ts";
import { type LabFile, startLab } from "./lab/index.ts";
import { type IronicServer, startIronic } from "./lab/ironic/start.ts";
import { installForAll } from "./lab/packages.ts";
import type { Server } from "./lab/server.ts";
import { groupsOf, isQuick, sharing } from "./runner/groups.ts";
import { longest, record, type Took, timesIn } from "./runner/times.ts";

/** The tests that start a real Keystone; one a real Nova and Glance too. */
const REAL_CLOUD = ["nova/real.test.js", "ironic/rest-keystone.test.js", "proxy/real.test.js"];

/** Room for what is soon garbage, of which tests make much: collecting it was a tenth of their processor time. */
const YOUNG = "--max-semi-space-size=64";

const HERE = dirname(fileURLToPath(import.meta.url));

/**
 * `npm test`: starts the servers once, runs every compiled test against them, ends them, and says
 * which files took longest. With N2I_RECORD=1 it keeps their times, by which the next run orders them.
 *
 * A real Ironic is started for each process of test files in a folder `ironic`.
 * `--fast` starts none, and the tests that need one skip themselves; by itself it leaves out as well
 * what starts the program again and again, and what takes twenty seconds in the whole suite. Other arguments are parts of file names. With N2I_FORBID_SKIP=1 a missing server or a skipped test is a failure, but in the
 * fast part, which skips by design.
 */
async function main(args: readonly string[]): Promise<number> {
  const fast = args.includes("--fast");
  const strict = process.env.N2I_FORBID_SKIP === "1" && !fast;
  const parts = args.filter((arg) => arg !== "--fast");
  const all = testFiles(parts);
  const files = fast && parts.length === 0 ? all.filter((file) => isQuick(file)) : all;
  const began = Date.now();
  if (files.length === 0) return fail(`no test file has this in its name: ${parts.join(" ")}`);
  if (!fast && parts.length === 0) installForAll();
  const folder = mkdtempSync(join(tmpdir(), "n2i-run-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  // What services make of tables is made once a run.
  process.env.N2I_SCHEMAS = join(folder, "schemas");
  const { mariadb, postgres } = fast ? { mariadb: null, postgres: null } : await startLab();
  if (strict && (mariadb === null || postgres === null)) {
    return fail("MariaDB or PostgreSQL is missing, and N2I_FORBID_SKIP is set");
  }
  const missing = fast ? [] : prepareTools();
  if (strict && missing.length > 0)
    return fail(`${missing.join(", ")} is missing, and N2I_FORBID_SKIP is set`);
  const wanted = sharing(files);
  const ironics = mariadb === null ? [] : await startIronics(mariadb, wanted);
  if (strict && ironics.length < wanted)
    return fail("Ironic 2023.1 is missing, and N2I_FORBID_SKIP is set");
  // Tests beside each other do not wait for apt-get.
  const clouds = files.some((file) => REAL_CLOUD.includes(file));
  if (!fast && clouds) cloudPrograms();
  const pages = files.some((file) => file.startsWith("browser/"));
  if (!fast && pages && chromiumPath() === null && strict)
    return fail("Chromium is missing, and N2I_FORBID_SKIP is set");
  const lab: LabFile = {
    mariadb: coordinates(mariadb),
    postgres: coordinates(postgres),
    ironics: ironics.map(whereIs),
  };
  const labPath = join(folder, "lab.json");
  writeFileSync(labPath, JSON.stringify(lab), { mode: 0o600 });
  const [skips, times] = [join(folder, "skips"), join(folder, "times")];
  const status = await nodeTest(processes(files, folder), skips, {
    ...(fast ? { N2I_FAST: "1" } : { N2I_LAB: labPath }),
    N2I_TIMES: times,
    // Tests write many small files and databases, and each of them is synced.
    TMPDIR: inMemory() ?? tmpdir(),
  });
  await Promise.all(ironics.map((ironic) => ironic.stop()));
  await Promise.all([mariadb?.stop(), postgres?.stop()]);
  tellLongest(timesIn(times), Date.now() - began);
  const skipped = linesOf(skips);
  if (strict && skipped.length > 0)
    return fail("skipped, which N2I_FORBID_SKIP forbids:", ...skipped);
  return status;
}

function testFiles(parts: readonly string[]): readonly string[] {
  return readdirSync(HERE, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".test.js"))
    .filter((name) => parts.length === 0 || parts.some((part) => name.includes(part)))
    .map((name) => name.replaceAll(sep, "/"));
}

/** A module in this folder for each process of several test files, in the order they are to start. */
function processes(files: readonly string[], folder: string): readonly string[] {
  const shared = pathToFileURL(join(HERE, "runner", "shared.js"));
  return groupsOf(files).map(({ name, files: [first = "", ...others] }) => {
    if (others.length === 0) return join(HERE, first);
    const module = join(folder, `${name}.test.mjs`);
    const list = JSON.stringify([first, ...others], null, 2);
    writeFileSync(module, `import { shared } from "${shared}";\nshared(${list});\n`);
    return module;
  });
}

async function nodeTest(
  files: readonly string[],
  skips: string,
  environment: { readonly [name: string]: string },
): Promise<number> {
  const [stopwatch, suite] = ["stopwatch.js", "suite.js"].map((name) => join(HERE, "runner", name));
  const flags = [YOUNG, `--import=${stopwatch}`];
  const child = spawn(process.execPath, [...flags, suite ?? "", skips, ...files], {
    stdio: "inherit",
    env: { ...process.env, ...environment },
  });
  // A signal to us is one to the tests; we end when they have, and the servers with us.
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => child.kill(signal));
  const [status] = await once(child, "exit");
  return typeof status === "number" ? status : 1;
}

/** On stdout, and in .build for who says it again at the end of more than the tests; there of every file too. */
function tellLongest(took: readonly Took[], whole: number): void {
  if (process.env.N2I_RECORD === "1") record(took);
  const lines = [...longest(took), `${Math.round(whole / 1000)} s in all, servers included`];
  writeFileSync(join(HERE, "..", "longest.txt"), `${lines.join("\n")}\n`);
  writeFileSync(join(HERE, "..", "took.json"), `${JSON.stringify(took, null, 1)}\n`);
  process.stdout.write(`\n${lines.join("\n")}\n`);
}

function coordinates(server: Server | null): LabFile["mariadb"] {
  if (server === null) return null;
  const { engine, host, port, socket, user, password } = server;
  return { engine, host, port, socket, user, password };
}

async function startIronics(mariadb: Server, wanted: number): Promise<readonly IronicServer[]> {
  const starting = Array.from({ length: wanted }, () => startIronic(mariadb));
  return (await Promise.all(starting)).filter((one) => one !== null);
}

function whereIs(server: IronicServer): LabFile["ironics"][number] {
  const { stop: _stop, ...at } = server;
  return at;
}

function linesOf(path: string): readonly string[] {
  return readFileSync(path, "utf8")
    .split("\n")
    .filter((line) => line !== "");
}

function fail(...lines: readonly string[]): number {
  process.stderr.write(`${lines.join("\n  ")}\n`);
  return 1;
}

process.exit(await main(process.argv.slice(2)));
