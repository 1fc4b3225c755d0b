import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { PYTHON } from "../../lab/python.ts";
import { STAGES } from "./stage-program.ts";

/** Runs it on a terminal of its own, made by Python; stdout goes past it. */
function onTerminal(columns: number, env: NodeJS.ProcessEnv): string {
  const python = `
import fcntl, os, pty, struct, subprocess, sys, termios
ours, theirs = pty.openpty()
fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, ${columns}, 0, 0))
child = subprocess.Popen(sys.argv[1:], stderr=theirs)
os.close(theirs)
try:
    while True: os.write(2, os.read(ours, 4096))
except OSError: pass
child.wait()`;
  const run = spawnSync(PYTHON, ["-c", python, ...STAGES], {
    env: { ...process.env, TERM: "xterm", CI: "", ...env },
    encoding: "utf8",
  });
  return `${run.stderr}--\n${run.stdout}`.replaceAll("\r\n", "\n");
}

test("on a terminal the list is drawn on stderr and the result goes to stdout", () => {
  const text = onTerminal(80, {});
  assert.ok(text.includes("\x1b["));
  assert.match(text, /✔.* extract/);
  assert.match(text, /✔.* apply/);
  assert.ok(!text.includes("\x1b[5m"));
  assert.match(text, /--\nresult\n$/);
});

test("on a terminal a stage's own error is thrown too, once", () => {
  const text = onTerminal(80, { FAILS: "yes" });
  assert.match(text, /✖.* plan/);
  assert.match(text, /--\nRangeError no\n$/);
});

test("NO_COLOR leaves colours out of the list", () => {
  const green = "\x1b[32m";
  assert.ok(onTerminal(80, { FORCE_COLOR: "1" }).includes(green));
  assert.ok(!onTerminal(80, { FORCE_COLOR: "1", NO_COLOR: "1" }).includes(green));
});

test("a dumb terminal, and one of no width, get dated lines without control codes", () => {
  for (const text of [onTerminal(80, { TERM: "dumb" }), onTerminal(0, {})]) {
    assert.match(text, /^1970-01-01T00:00:00Z extract: started\n/);
    assert.ok(!text.includes("\x1b"));
  }
});
