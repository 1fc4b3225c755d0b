import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort, startDaemon } from "./daemon.ts";
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

test("a server that dies of a fault in its memory is started again, on what it was made with", async () => {
  const folder = privateFolder("n2i-daemon-", user);
  const once = "[ -e died ] || { touch died; kill -SEGV $$; }; touch up; exec sleep 60";
  const daemon = startDaemon(["mkdir", "made"], ["sh", "-c", once], {
    ...{ folder, signal: "TERM", owner: user },
  });
  const is = (name: string): boolean => existsSync(join(folder, name));
  for (let waited = 0; !is("up") && waited < 5000; waited += 50) await sleep(50);
  assert.deepEqual([is("died"), is("up"), daemon.running()], [true, true, true]);
  daemon.signal("SIGTERM");
  await daemon.stop();
  assert.ok(!existsSync(folder));
});

test("a port that one was given is given to no other, nor by the kernel, while it is not used", async () => {
  const ports = await Promise.all(Array.from({ length: 300 }, freePort));
  assert.equal(new Set(ports).size, ports.length);
  const kernels = readFileSync("/proc/sys/net/ipv4/ip_local_port_range", "utf8");
  assert.ok(Math.max(...ports) < Number.parseInt(kernels, 10), kernels);
  const [port] = ports;
  const other = createServer().listen({ path: `\0nova2ironic-port-${port}` });
  const [cause] = await once(other, "error");
  assert.equal(cause.code, "EADDRINUSE");
});
