import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { STAGES } from "./stage-program.ts";

function piped(env: NodeJS.ProcessEnv): { readonly stdout: string; readonly stderr: string } {
  const [command = "", ...args] = STAGES;
  return spawnSync(command, args, { env: { ...process.env, ...env }, encoding: "utf8" });
}

test("without a terminal each event is one dated line on stderr, and stdout is left alone", () => {
  const { stdout, stderr } = piped({});
  assert.equal(stdout, "result\n");
  assert.equal(
    stderr,
    `1970-01-01T00:00:00Z extract: started
1970-01-01T00:00:00Z extract: rack1\\x1b[5m
1970-01-01T00:00:00Z extract: complete (0.0 s)
1970-01-01T00:00:00Z plan: started
1970-01-01T00:00:00Z plan: complete (0.0 s)
1970-01-01T00:00:00Z apply: started
1970-01-01T00:00:00Z apply: complete (0.0 s)
`,
  );
});

test("a stage that fails ends the list, and its own error is thrown", () => {
  const { stdout, stderr } = piped({ FAILS: "yes" });
  assert.equal(stdout, "RangeError no\n");
  assert.match(stderr, /plan: failed \(0\.0 s\)\n$/);
});
