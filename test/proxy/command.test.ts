import assert from "node:assert/strict";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { SERVE } from "../../src/cli/options/serve.ts";
import { refused, start } from "../hostile/cli.ts";
import { privateFolder } from "../hostile/deployment.ts";
import { signal } from "../support/signal.ts";
import { PATH, running } from "./running.ts";
import { proxyScene } from "./scene.ts";
import { standInIronic } from "./stand-ins.ts";

const WHERE = ["--keystone-url", "http://127.0.0.1:1", "--ironic-url", "http://127.0.0.1:1"];

test("each request is one line without a token or a query, and no password of the environment is taken", async (t) => {
  const at = await running(t, 3, [], { OS_PASSWORD: "of-somebody" });
  const answer = await at.get(`${PATH}?secret=hidden`);
  assert.equal(answer.status, 200);
  const id = answer.headers.get("x-openstack-request-id") ?? "";
  await answer.text();
  await at.started.heard(new RegExp(`^GET ${PATH} 200 \\d+ ms 2 calls ${id}$`, "m"));
  at.started.signal("SIGTERM");
  const { status, out, err } = await at.started.ended;
  assert.deepEqual([status, out], [143, ""]);
  const ignored =
    "OS_PASSWORD is ignored: the proxy has no credentials and sends each caller's token to";
  assert.match(err, new RegExp(`^${ignored} Ironic`, "m"));
  assert.match(err, /^Stopping: no new connections/m);
  assert.doesNotMatch(err, /gAAAA|hidden|of-somebody/);
});

test("a list under way is answered whole when it is to end, and Ctrl-C is 130", async (t) => {
  const at = await running(t, 3000);
  let pages = 0;
  at.ironic.before = async (path) => {
    if (!path.startsWith("/v1/nodes?")) return;
    pages += 1;
    if (pages !== 2) return;
    at.started.signal("SIGINT");
    await at.started.heard(/^Stopping/m);
  };
  const { nodes } = (await (await at.get()).json()) as { readonly nodes: readonly object[] };
  assert.equal(nodes.length, 3000);
  assert.equal((await at.started.ended).status, 130);
});

test("told to end before Ironic has said anything, it does not wait for that", async (t) => {
  const ironic = await standInIronic(t, 1);
  const asked = signal();
  ironic.before = () => {
    asked.set();
    return new Promise(() => undefined);
  };
  const where = ["--keystone-url", "http://127.0.0.1:1", "--ironic-url", ironic.url];
  const started = start(["serve", "proxy", "--listen", "127.0.0.1:0", ...where]);
  t.after(() => started.signal("SIGKILL"));
  await asked.isSet;
  started.signal("SIGTERM");
  assert.equal((await started.ended).status, 143);
});

test("SIGHUP reads the policy file again and ends nothing; with --json everything is an event", async (t) => {
  const file = join(privateFolder(t), "policy.yaml");
  writeFileSync(file, "{}\n");
  const at = await running(t, 1, ["--policy-file", file, "--json"]);
  assert.equal((await at.get()).status, 200);
  writeFileSync(file, '"os_compute_api:os-baremetal-nodes:list": "!"\n');
  at.started.signal("SIGHUP");
  await at.started.said("was reloaded, and its rules are in effect");
  assert.equal((await at.get()).status, 403);
  // A broken one changes nothing, nor does one that is gone.
  for (const [make, why] of [
    [() => writeFileSync(file, "{"), "not YAML"],
    [() => rmSync(file), "ENOENT"],
  ] as const) {
    make();
    at.started.signal("SIGHUP");
    await at.started.heard(
      new RegExp(`was not reloaded, and the previous rules remain in effect: .*${why}`),
    );
    assert.equal((await at.get()).status, 403);
  }
  at.started.signal("SIGTERM");
  const { status, err } = await at.started.ended;
  assert.equal(status, 143);
  assert.match(err, /listening on .*, policy \/.*policy\.yaml/);
  const lines = err.trimEnd().split("\n");
  const events: readonly { readonly [name: string]: unknown }[] = lines.map((line) =>
    JSON.parse(line),
  );
  const items = events.filter(({ type }) => type === "item");
  const told = items.map((one) => `${one.method} ${one.path} ${one.status}`);
  assert.deepEqual(told, [`GET ${PATH} 200`, ...Array(3).fill(`GET ${PATH} 403`)]);
  const { type, code, name } = events.at(-1) ?? {};
  assert.deepEqual([type, code, name], ["exit", 143, "terminated"]);
});

test("no option, and so no key of nova2ironic.yaml, takes what one could log in with", () => {
  const names = Object.keys(SERVE.proxy.options);
  assert.ok(names.includes("keystone-url"));
  for (const name of names)
    assert.doesNotMatch(name, /pass|secret|user|cloud|token(?!-cache)|credential/);
});

test("a command line that cannot be meant is refused before anything is opened", async () => {
  const says = async (why: RegExp, ...words: readonly string[]): Promise<void> => {
    await refused(["serve", "proxy", ...words], 64, "N2I-E100", [why]);
  };
  const [, keystone = "", , ironic = ""] = WHERE;
  await says(/needs --keystone-url or --auth none/, "--ironic-url", ironic);
  await says(/needs --ironic-url or --from-catalog/, "--keystone-url", keystone);
  await says(/are mutually exclusive/, ...WHERE, "--from-catalog");
  await says(/loopback/, ...WHERE, "--auth", "none", "--listen", "0.0.0.0:0");
  const none = ["--auth", "none"];
  await says(/--from-catalog and --auth none are mutually exclusive/, ...none, "--from-catalog");
  await says(/--tls-cert needs --tls-key/, ...WHERE, "--tls-cert", "x.pem");
  await says(/HOST:PORT/, ...WHERE, "--listen", "8785");
  for (const most of ["0", "1.5"])
    await says(/--max-connections takes a whole number/, ...WHERE, "--max-connections", most);
  await says(/--api-timeout takes a number above 0/, ...WHERE, "--api-timeout", "0");
  await says(/--region needs --from-catalog/, ...WHERE, "--region", "one");
  await says(/--interface internal needs --from/, ...WHERE, "--interface", "internal");
  await says(/serve proxy has no option --password/, ...WHERE, "--password", "x");
  const login = ["--keystone-url", "http://u:p@keystone:5000"];
  await refused(["serve", "proxy", ...login], 64, "N2I-E101", [/each caller's own token/]);
  const authorities = ["--os-cacert", "/nonexistent/ca.pem"];
  await refused(["serve", "proxy", ...WHERE, ...authorities], 64, "N2I-E106", [/user can read/]);
  const cert = ["--tls-cert", "/nonexistent/c.pem", "--tls-key", "/nonexistent/k.pem"];
  await refused(["serve", "proxy", ...WHERE, "--listen", "127.0.0.1:0", ...cert], 64, "N2I-E116");
  const policy = ["--policy-file", "/nonexistent/policy.yaml"];
  await refused(["serve", "proxy", ...WHERE, ...policy], 64, "N2I-E109");
  await refused(["serve", "proxy", ...WHERE, "--run", "/nonexistent/run"], 64, "N2I-E110");
});

test("a port that is taken is 1", async (t) => {
  const { proxy } = await proxyScene(t, 1);
  const taken = ["--listen", proxy.url.replace("http://", "")];
  await refused(["serve", "proxy", ...WHERE, ...taken], 1, "N2I-E117", [/EADDRINUSE/]);
});
