import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";
import { pauseShorter } from "../../src/systems/openstack/passing.ts";
import { runs } from "../hostile/cli.ts";
import { deployFiles } from "../hostile/deployment.ts";
import { SMALL } from "../hostile/fleet.ts";
import { runHere } from "../support/in-process.ts";
import { listening } from "../support/listening.ts";

test("while a service does not answer its login, it is said what is waited for", async (t) => {
  const made = await deployFiles(t, SMALL);
  await runs(0, ["extract", ...made.at, ...made.source, "-q"]);
  pauseShorter(0);
  t.after(() => pauseShorter(1));
  // What is silent for two seconds is said at once.
  const { setTimeout: later } = globalThis;
  t.mock.method(globalThis, "setTimeout", ((work: () => void, ms: number) =>
    later(work, ms === 2000 ? 0 : ms)) as typeof setTimeout);
  const SAID = /^Still logging in and asking Ironic what it is: 0 s so far\.$/m;
  let said = (): void => undefined;
  const heard = new Promise<void>((resolve) => {
    said = resolve;
  });
  const url = await listening(
    t,
    createServer((_, answer) => void heard.then(() => answer.writeHead(503).end())),
  );
  const words = ["plan", ...made.at, "--ironic-url", url];
  const { status, err } = await runHere(
    words,
    { OS_AUTH_TYPE: "none" },
    { heard: (text) => SAID.test(text) && said() },
  );
  assert.match(err, SAID);
  assert.equal(status, 1, err);
});
