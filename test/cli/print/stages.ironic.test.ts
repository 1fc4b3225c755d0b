import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { PYTHON } from "../../lab/python.ts";

const PRINT = new URL("../../../src/cli/print/", import.meta.url).href;

/** A program of one stage, which fails when asked to. */
const PROGRAM = `
  import { drawStage } from "${PRINT}stages.js";
  const work = async (draw) => {
    draw("rack1\\x1b[5m");
    if (process.env.FAILS === "yes") throw new RangeError("no");
    return "result\\n";
  };
  await drawStage(process.stderr, "plan", work, () => process.env.FAILS === "interrupted")
    .then((result) => process.stdout.write(result))
    .catch((error) => process.stdout.write(error.name + " " + error.message + "\\n"));`;

/** Runs it on a terminal of its own, made by Python; stdout goes past it. */
function onTerminal(env: NodeJS.ProcessEnv): string {
  const python = `
import fcntl, os, pty, struct, subprocess, sys, termios
ours, theirs = pty.openpty()
fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
child = subprocess.Popen(sys.argv[1:], stderr=theirs)
os.close(theirs)
try:
    while True: os.write(2, os.read(ours, 4096))
except OSError: pass
child.wait()`;
  const run = spawnSync(
    PYTHON,
    ["-c", python, process.execPath, "--input-type=module", "-e", PROGRAM],
    { env: { ...process.env, TERM: "xterm", CI: "", ...env }, encoding: "utf8" },
  );
  return `${run.stderr}--\n${run.stdout}`.replaceAll("\r\n", "\n");
}

test("on a terminal a stage is drawn on stderr and the result goes to stdout", () => {
  const text = onTerminal({});
  assert.ok(text.includes("\x1b["));
  assert.match(text, /✔.* plan/);
  assert.ok(!text.includes("\x1b[5m"));
  assert.match(text, /--\nresult\n$/);
});

test("on a terminal a stage's own error is thrown too, once", () => {
  const text = onTerminal({ FAILS: "yes" });
  assert.match(text, /✖.* plan/);
  assert.match(text, /--\nRangeError no\n$/);
});

test("on a terminal an interrupted stage is not shown as done", () => {
  const text = onTerminal({ FAILS: "interrupted" });
  assert.match(text, /interrupted/);
  assert.doesNotMatch(text, /✔/);
});

test("NO_COLOR leaves colours out", () => {
  const green = "\x1b[32m";
  assert.ok(onTerminal({ FORCE_COLOR: "1" }).includes(green));
  assert.ok(!onTerminal({ FORCE_COLOR: "1", NO_COLOR: "1" }).includes(green));
});
