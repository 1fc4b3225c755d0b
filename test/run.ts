import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { dirname, join, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { prepareTools } from "./lab/bmc/tools.ts";
import { cloudPrograms } from "./lab/cloud/programs.ts";
import { type LabFile, startLab } from "./lab/index.ts";
import { type IronicServer, startIronic } from "./lab/ironic/start.ts";
import type { Server } from "./lab/server.ts";

/** Test files at a time: one more than processors, as many wait for a server or a clock. */
const AT_ONCE = availableParallelism() + 1;

/** The tests that start a real Keystone; one a real Nova and Glance too. */
const REAL_CLOUD = [join("nova", "real.test.js"), join("ironic", "rest-keystone.test.js")];

/**
 * `npm test`: starts the servers once, runs every compiled test against them, ends them.
 *
 * A real Ironic is started when a test file in a folder `ironic` is among them.
 * `--fast` starts none, and the tests that need one skip themselves. Other arguments are parts of
 * file names. With N2I_FORBID_SKIP=1 a missing server or a skipped test is a failure, but in the
 * fast part, which skips by design.
 */
async function main(args: readonly string[]): Promise<number> {
  const fast = args.includes("--fast");
  const strict = process.env.N2I_FORBID_SKIP === "1" && !fast;
  const files = testFiles(args.filter((arg) => arg !== "--fast"));
  if (files.length === 0) return fail(`no test file has this in its name: ${args.join(" ")}`);
  const { mariadb, postgres } = fast ? { mariadb: null, postgres: null } : await startLab();
  if (strict && (mariadb === null || postgres === null)) {
    return fail("MariaDB or PostgreSQL is missing, and N2I_FORBID_SKIP is set");
  }
  const missing = fast ? [] : prepareTools();
  if (strict && missing.length > 0)
    return fail(`${missing.join(", ")} is missing, and N2I_FORBID_SKIP is set`);
  const wanted = files.some((file) => file.includes(`${sep}ironic${sep}`));
  const ironic = wanted && mariadb !== null ? await startIronic(mariadb) : null;
  if (strict && wanted && ironic === null)
    return fail("Ironic 2023.1 is missing, and N2I_FORBID_SKIP is set");
  // Tests beside each other do not wait for apt-get.
  const clouds = files.some((file) => REAL_CLOUD.some((name) => file.endsWith(name)));
  if (!fast && clouds) cloudPrograms();
  const folder = mkdtempSync(join(tmpdir(), "n2i-run-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  const lab: LabFile = {
    mariadb: coordinates(mariadb),
    postgres: coordinates(postgres),
    ironic: whereIs(ironic),
  };
  const labPath = join(folder, "lab.json");
  writeFileSync(labPath, JSON.stringify(lab), { mode: 0o600 });
  const tap = join(folder, "tap");
  const status = await nodeTest(files, tap, fast ? { N2I_FAST: "1" } : { N2I_LAB: labPath });
  await ironic?.stop();
  await Promise.all([mariadb?.stop(), postgres?.stop()]);
  const skipped = skips(tap);
  if (strict && skipped.length > 0)
    return fail("skipped, which N2I_FORBID_SKIP forbids:", ...skipped);
  return status;
}

function testFiles(parts: readonly string[]): readonly string[] {
  const here = dirname(fileURLToPath(import.meta.url));
  return readdirSync(here, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".test.js"))
    .filter((name) => parts.length === 0 || parts.some((part) => name.includes(part)))
    .toSorted()
    .map((name) => join(here, name));
}

async function nodeTest(
  files: readonly string[],
  tap: string,
  environment: { readonly [name: string]: string },
): Promise<number> {
  const child = spawn(
    process.execPath,
    [
      ...["--test", `--test-concurrency=${AT_ONCE}`, "--test-timeout=900000"],
      ...["--test-reporter=spec", "--test-reporter-destination=stdout"],
      ...["--test-reporter=tap", `--test-reporter-destination=${tap}`],
      ...files,
    ],
    { stdio: "inherit", env: { ...process.env, ...environment } },
  );
  // A signal to us is one to the tests; we end when they have, and the servers with us.
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => child.kill(signal));
  const [status] = await once(child, "exit");
  return typeof status === "number" ? status : 1;
}

function coordinates(server: Server | null): LabFile["mariadb"] {
  if (server === null) return null;
  const { engine, host, port, socket, user, password } = server;
  return { engine, host, port, socket, user, password };
}

function whereIs(server: IronicServer | null): LabFile["ironic"] {
  if (server === null) return null;
  const { stop: _stop, ...at } = server;
  return at;
}

function skips(tap: string): readonly string[] {
  const lines = readFileSync(tap, "utf8").split("\n");
  return lines.filter((line) => / # SKIP\b/.test(line)).map((line) => line.trim());
}

function fail(...lines: readonly string[]): number {
  process.stderr.write(`${lines.join("\n  ")}\n`);
  return 1;
}

process.exit(await main(process.argv.slice(2)));
