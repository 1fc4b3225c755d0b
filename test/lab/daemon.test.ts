import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { startDaemon } from "./daemon.ts";
import { owner, privateFolder } from "./folder.ts";

const user = owner();

test("a server that cannot start says why and leaves no folder", async () => {
  const folder = privateFolder("n2i-daemon-", user);
  const daemon = startDaemon(["echo", "it's made"], ["sh", "-c", "echo no room >&2; exit 3"], {
    folder,
    signal: "TERM",
    owner: user,
  });
  for (let waited = 0; daemon.running() && waited < 5000; waited += 50) await sleep(50);
  assert.ok(!daemon.running());
  assert.equal(daemon.lastWords(), "it's made\nno room\n");
  assert.ok(!existsSync(folder));
});

test("a server that ignores the first signal is ended all the same", async () => {
  const folder = privateFolder("n2i-daemon-", user);
  const stubborn = "trap 'n=$((n + 1)); [ $n -lt 3 ] || exit 0' TERM; while :; do sleep 0.05; done";
  const daemon = startDaemon(["true"], ["sh", "-c", stubborn], {
    folder,
    signal: "TERM",
    owner: user,
  });
  await sleep(200);
  assert.ok(daemon.running());
  await daemon.stop();
  assert.ok(!existsSync(folder));
});

test("a server that is killed from outside leaves no folder", async () => {
  const folder = privateFolder("n2i-daemon-", user);
  const server = ["sh", "-c", "echo up; exec sleep 100"];
  const daemon = startDaemon(["true"], server, { folder, signal: "TERM", owner: user });
  const log = join(folder, "log");
  while (!existsSync(log) || !readFileSync(log, "utf8").includes("up")) await sleep(20);
  daemon.signal("SIGKILL");
  while (daemon.running()) await sleep(20);
  assert.equal(daemon.lastWords(), "Killed\nup\n", "the shell beside it, and its own log");
  assert.ok(!existsSync(folder));
});
