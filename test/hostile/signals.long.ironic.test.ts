import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { type Ran, runs, type Started, start } from "./cli.ts";
import { plannedWhole, type Whole } from "./whole.ts";

const STATUS = { SIGHUP: 143, SIGTERM: 143, SIGINT: 130, SIGQUIT: 143 } as const;
type Signal = keyof typeof STATUS;
const NONE_PENDING = /^ShdPnd:\s+0+$/m;

function processesWith(text: string): readonly string[] {
  return readdirSync("/proc").filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "latin1").includes(text);
    } catch {
      return false;
    }
  });
}

/** Every command that takes some time, with a place where it is met; without one it is met midway. */
function commands(made: Whole): readonly (readonly [readonly string[], string | null])[] {
  const { at, extract, planning, reader, writer, novaReader, novaWriter, check, boot } = made;
  const both = [...at, ...writer, ...novaWriter, "--yes"];
  return [
    [extract, null],
    [planning, "plan.between"],
    [check, null],
    [["config", ...at, "--ironic-release", "kilo"], null],
    [["show", join(made.run, "plan")], null],
    [["verify", ...at, ...reader, ...novaReader], null],
    [["status", ...at], null],
    [[...boot, "--yes"], "boot.step"],
    [[...boot, "--yes", "--undo"], "boot.step"],
    [["apply", ...both, "--staged"], "nova.begin.after"],
    [["apply", ...both, "--staged"], "begin.after"],
    [["handover", ...at, ...writer, "--yes"], null],
    [["finish", ...at, ...writer, "--yes"], null],
    [["finish", ...at, ...writer, "--yes", "--undo"], null],
    [["rollback", ...both, "--all"], "undo.before"],
  ];
}

async function met(started: Started, made: Whole, point: string | null): Promise<void> {
  if (point !== null) return started.said(`failpoint ${point}`);
  while (!existsSync(join(made.run, "run.lock")) && processesWith(String(made.run)).length > 0)
    await sleep(5);
}

test("every command that is sent a signal ends, with nothing beside what it is for", async (t) => {
  const made = await plannedWhole("sqlite", t);
  const temporary = join(made.folder, "tmp");
  mkdirSync(temporary);
  const beside = (): readonly string[] => [
    ...readdirSync(temporary),
    ...readdirSync(made.folder, { recursive: true, encoding: "utf8" }).filter((name) =>
      /n2i-tmp|lock$|-journal$/.test(name),
    ),
  ];
  for (const [words, point] of commands(made)) {
    const signal = "SIGHUP";
    const ran = await signalled(made, words, point, signal, temporary);
    const told = `${words.join(" ")} ${signal}: ${ran.status} ${ran.err}`;
    // 128: it came to a process that had ended its work and heard nothing any more.
    const ends = point === null ? [0, 1, 2, 4, 128, 143] : [143];
    assert.ok(ends.includes(ran.status), told);
    assert.deepEqual(beside(), [], told);
    // What was cut short is not the plan of the run.
    if (words === made.planning) await runs(0, [...made.planning, "-q"]);
  }
});

test("a terminal that is lost, which a shell and the kernel both say, lets the batch end", async (t) => {
  const made = await plannedWhole("sqlite", t);
  const words = ["apply", ...made.at, ...made.writer, ...made.novaWriter, "--yes", "-q"];
  const env = { NOVA2IRONIC_FAILPOINT: "begin.after:1:pause" };
  const started = start(words, { env });
  await started.said("failpoint");
  for (let times = 0; times < 3; times++) {
    started.signal("SIGHUP");
    // One that is still pending would swallow the next.
    while (!NONE_PENDING.test(readFileSync(`/proc/${started.pid}/status`, "utf8"))) await sleep(1);
  }
  started.signal("SIGUSR2");
  const { status, err } = await started.ended;
  assert.equal(status, 143, err);
  assert.deepEqual((await made.ironic.db("nodes")).length, 2, err);
  await runs(0, words);
});

async function signalled(
  made: Whole,
  words: readonly string[],
  point: string | null,
  signal: Signal,
  temporary: string,
): Promise<Ran> {
  const env = {
    TMPDIR: temporary,
    ...(point !== null && { NOVA2IRONIC_FAILPOINT: `${point}:1:pause` }),
  };
  const started = start([...words, "-q"], { env });
  await met(started, made, point);
  started.signal(signal);
  // Who acts and does not come to a good place is ended by the second one.
  // A terminal is lost once, however often that is said.
  const more = signal === "SIGHUP" ? "SIGTERM" : signal;
  const again = setInterval(() => started.signal(more), 300);
  const ran = await started.ended;
  clearInterval(again);
  return ran;
}
