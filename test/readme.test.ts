import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { packageRoot } from "../src/run/files/package-root.ts";
import { caseUuid } from "./cases/case.ts";
import { refused, runs, start } from "./hostile/cli.ts";
import { privateFolder } from "./hostile/deployment.ts";
import { proxyScene } from "./proxy/scene.ts";
import { nodeOf, standInIronic, standInKeystone } from "./proxy/stand-ins.ts";
import { blocks, page } from "./support/manual.ts";

const README = readFileSync(join(packageRoot(), "README.md"), "utf8");

test("README says what the tool is for, then the demo, the use and the picture, in 120 lines", () => {
  const order = [
    ...["No state is lost", "npm run demo", "npm test", "## Use it on your deployment"],
    ...["extract ──>", "## The manual", "src/manual/scripts.md", "## Develop"],
  ];
  const found = order.map((text) => README.indexOf(text));
  assert.ok(!found.includes(-1), String(found));
  const sorted = found.toSorted((left, right) => left - right);
  assert.deepEqual(found, sorted);
  assert.ok(README.split("\n").length <= 121);
});

test("README's connections and commands are those of quickstart, which run against real services", () => {
  const quickstart = page("quickstart");
  const [commands = "", ...others] = blocks(README, "").filter((one) => !one.includes("──"));
  assert.deepEqual(others, []);
  const lines = commands.trimEnd().split("\n");
  const known = blocks(quickstart, "").flatMap((one) => one.trimEnd().split("\n"));
  assert.deepEqual([lines.length, lines.filter((line) => !known.includes(line))], [4, []]);
  assert.deepEqual(blocks(README, "yaml"), blocks(quickstart, "yaml"));
  const shell = [README, quickstart].flatMap((text) => blocks(text, "sh")).join("");
  // test/start.test.ts runs the first; the demo runs below, and from the package in test/pack.test.ts.
  const own = shell.match(/^nova2ironic \S+/gm);
  assert.deepEqual(own, ["nova2ironic --version", "nova2ironic demo"]);
  const { scripts } = JSON.parse(readFileSync(join(packageRoot(), "package.json"), "utf8")) as {
    readonly scripts: object;
  };
  for (const [, name = ""] of shell.matchAll(/^npm (?:run )?(demo|test)\b/gm))
    assert.ok(Object.hasOwn(scripts, name), name);
  for (const text of [README, quickstart])
    assert.doesNotMatch(text, /^```(?!(?:sh|text|yaml)?$)/m, "a block that no test reads");
});

test("README's demo prints what README shows, keeps its run on request, and the proxy knows its machines by number", async (t) => {
  const folder = join(privateFolder(t), "sample");
  const { out, err } = await runs(0, ["demo", "--keep", folder]);
  assert.match(out, /^ {2}yes {2}after rollback, Ironic has the same digest as before$/m);
  assert.doesNotMatch(out, /^ {2}NO /m);
  const said = new Set(`${out}${err}`.split("\n"));
  const blocksShown = [README, page("quickstart")].flatMap((text) => blocks(text, "text"));
  const shown = blocksShown.flatMap((block) => block.trimEnd().split("\n"));
  const missing = shown.filter((line) => !said.has(line));
  assert.deepEqual(missing, []);
  const report = out.trimEnd().split("\n").at(-1) ?? "";
  assert.ok(!readdirSync(folder).includes("output.txt"));
  assert.match(readFileSync(report, "utf8"), /^<!doctype html>/);
  await refused(["demo", "--keep", folder], 64, "N2I-E100", [/is not empty/]);
  const { ask, ironic } = await proxyScene(t, 0, () => ({ run: join(folder, "run") }));
  for (const id of [2, 1]) ironic.nodes.push({ ...nodeOf(id), uuid: caseUuid("node", id) });
  for (const id of [1, 2]) {
    const { body } = await ask(`GET /v2.1/os-baremetal-nodes/${id}`);
    const { node } = body as { readonly node: { readonly id: string } };
    assert.equal(node.id, caseUuid("node", id));
  }
  assert.equal((await ask("GET /v2.1/os-baremetal-nodes/99")).status, 404);
});

test("README's command of the proxy serves as it is printed", async (t) => {
  const [keystone, ironic] = [await standInKeystone(t), await standInIronic(t, 3)];
  keystone.tokens.set("admin", { roles: ["admin"] });
  const [, line = "", ...others] = README.split(/`nova2ironic (serve proxy [^`]*)`/);
  assert.equal(others.length, 1);
  const serve = line
    // Other hosts, and a port that nobody has.
    .replace("https://keystone:5000", keystone.url)
    .replace("https://ironic:6385", ironic.url)
    .concat(" --listen 127.0.0.1:0")
    .split(" ");
  const serving = start(serve);
  t.after(() => serving.signal("SIGKILL"));
  const [, url = ""] = await serving.heard(/^listening on (\S+), Ironic \S+ 1\.1-1\.82, policy /m);
  const headers = { "X-Auth-Token": "admin" };
  const answer = await fetch(`${url}/v2.1/os-baremetal-nodes`, { headers });
  const { nodes } = (await answer.json()) as { readonly nodes: readonly object[] };
  assert.deepEqual([answer.status, nodes.length], [200, 3]);
  serving.signal("SIGTERM");
  assert.equal((await serving.ended).status, 143);
});
