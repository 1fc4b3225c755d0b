import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { MAIN, quoted, startProgram } from "./cli.ts";
import { type Deployment, deployFiles, plannedFiles } from "./deployment.ts";
import { digest } from "./digest.ts";
import { SMALL, tenant } from "./fleet.ts";

const planned = (t: TestContext): Promise<Deployment> =>
  plannedFiles(t, { ...SMALL, nova_bm: { nodes: [tenant(1), tenant(2)] } });

test("a result that could not be written is no success", async (t) => {
  const made = await planned(t);
  const plan = quoted([process.execPath, MAIN, "plan", ...made.at, ...made.reader, ...made.plan]);
  const full = await startProgram("bash", ["--norc", "-c", `${plan} > /dev/full`]).ended;
  assert.notEqual(full.status, 0);
  assert.doesNotMatch(full.err, /^\s+at /m);
});

/** A terminal that goes away when it has shown some text; exits as its child did. */
const LOST = `
import os, pty, sys
child, ours = pty.fork()
if child == 0: os.execvp(sys.argv[2], sys.argv[2:])
seen = b""
while sys.argv[1].encode() not in seen: seen += os.read(ours, 4096)
os.close(ours)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) % 256)
`;

test("a terminal that is lost at a question ends the command, and the log says so", async (t) => {
  const made = await planned(t);
  const before = await digest(made.ironic);
  const apply = [process.execPath, MAIN, "apply", ...made.at, ...made.writer, "--leave-nova"];
  const ran = await startProgram("python3", ["-c", LOST, "to continue:", ...apply]).ended;
  assert.equal(ran.status, 143, ran.err);
  assert.equal(await digest(made.ironic), before);
  endedByLoss(made);
});

test("a terminal that is lost ends the command also if the shell ignores the signal", async (t) => {
  const nodes = Array.from({ length: 1200 }, (_, at) => tenant(at + 1));
  const made = await deployFiles(t, { ...SMALL, nova_bm: { nodes } });
  const keeping = ["sh", "-c", 'trap : HUP; "$@"; exit $?', "sh"];
  const extract = [...keeping, process.execPath, MAIN, "extract", ...made.at, ...made.source];
  const env = { TERM: "xterm" };
  const ran = await startProgram("python3", ["-c", LOST, "extract", ...extract], { env }).ended;
  assert.equal(ran.status, 143, ran.err);
  endedByLoss(made);
});

test("a service ends when its terminal is lost", async () => {
  const where = ["--auth", "none", "--ironic-url", "http://127.0.0.1:1"];
  const serve = [process.execPath, MAIN, "serve", "proxy", "--listen", "127.0.0.1:0", ...where];
  // A service that keeps writing to the lost terminal reaches this limit.
  const limited = ["sh", "-c", 'ulimit -t 10; exec "$@"', "sh", ...serve];
  const ran = await startProgram("python3", ["-c", LOST, "listening on", ...limited]).ended;
  assert.equal(ran.status, 143, ran.err);
});

function endedByLoss({ run: folder }: Deployment): void {
  const log = readFileSync(join(folder, "log.jsonl"), "utf8").trimEnd().split("\n");
  assert.match(log.at(-1) ?? "", /"type":"end","status":143,"name":"SIGHUP"/);
  assert.ok(!existsSync(join(folder, "run.lock")));
}
