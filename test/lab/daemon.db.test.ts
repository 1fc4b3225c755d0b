import assert from "node:assert/strict";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort, startDaemon } from "./daemon.ts";
import { owner, privateFolder } from "./folder.ts";

function daemonOf(script: string, init: readonly string[] = ["true"]) {
  const user = owner();
  const folder = privateFolder("n2i-daemon-", user);
  const daemon = startDaemon(init, ["sh", "-c", script], { folder, signal: "TERM", owner: user });
  return { ...daemon, folder, has: (name: string) => existsSync(join(folder, name)) };
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await sleep(20);
}

test("a server that cannot start says why and leaves no folder", async () => {
  const daemon = daemonOf("echo no room >&2; exit 3", ["echo", "it's made"]);
  await until(() => !daemon.running());
  assert.equal(daemon.lastWords(), "it's made\nno room\n");
  assert.ok(!existsSync(daemon.folder));
});

test("a server that ignores the first signal is ended all the same", async () => {
  const trap = "trap 'n=$((n + 1)); [ $n -lt 3 ] || exit 0' TERM";
  const daemon = daemonOf(`${trap}; touch up; while :; do sleep 0.05; done`);
  await until(() => daemon.has("up"));
  await daemon.stop();
  assert.ok(!existsSync(daemon.folder));
});

test("a server that is killed from outside leaves no folder", async () => {
  const daemon = daemonOf("echo its log; touch up; exec sleep 100");
  // The server may be up before the shell has written its process id.
  await until(() => daemon.has("up") && daemon.has("server.pid"));
  daemon.signal("SIGKILL");
  await until(() => !daemon.running());
  // The shell that waits for it may say that it was killed.
  assert.match(daemon.lastWords(), /(^|\n)its log\n$/);
  assert.ok(!existsSync(daemon.folder));
});

test("a server that dies of a fault in its memory is started again, on what it was made with", async () => {
  const script = "[ -e died ] || { touch died; kill -SEGV $$; }; touch up; exec sleep 60";
  const daemon = daemonOf(script, ["mkdir", "made"]);
  await until(() => daemon.has("up") || !daemon.running());
  assert.deepEqual([daemon.has("died"), daemon.has("up")], [true, true]);
  daemon.signal("SIGTERM");
  await daemon.stop();
  assert.ok(!existsSync(daemon.folder));
});

test("a port that was given is given to no other process while it is not used", async () => {
  const ports = await Promise.all(Array.from({ length: 100 }, freePort));
  assert.equal(new Set(ports).size, ports.length);
  const other = createSocket("udp4").bind({
    address: "127.0.0.1",
    port: ports[0],
    exclusive: true,
  });
  const [cause] = await once(other, "error");
  assert.equal(cause.code, "EADDRINUSE");
});
