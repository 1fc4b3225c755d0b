import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { caseUuid } from "../src/demo/case.ts";
import { packageRoot, program } from "../src/run/files/package-root.ts";
import { start } from "./hostile/cli.ts";
import { proxyScene } from "./proxy/scene.ts";
import { nodeOf, standInIronic, standInKeystone } from "./proxy/stand-ins.ts";
import { blocks } from "./support/manual.ts";

const README = readFileSync(join(packageRoot(), "README.md"), "utf8");

test("README opens with what the tool is for, two commands and the picture, then a run and the manual", () => {
  const order = [
    ...["lose no state", "npm run demo", "npm test", "extract ──>", "## What it looks like"],
    ...["## The manual", "src/manual/runbook.md"],
  ];
  const found = order.map((text) => README.indexOf(text));
  assert.ok(!found.includes(-1), String(found));
  assert.deepEqual(
    found,
    found.toSorted((left, right) => left - right),
  );
  assert.ok(README.split("\n").length <= 151, "README is at most 150 lines");
});

test("README's demo prints what README shows, proves everything, and its run tells the proxy which machine was number 1", async (t) => {
  const child = spawn(process.execPath, [program(), "demo"], { stdio: ["ignore", "pipe", "pipe"] });
  t.after(() => child.kill("SIGKILL"));
  let out = "";
  const planned = new Promise<string>((resolve, reject) => {
    child.stdout.setEncoding("utf8").on("data", (more: string) => {
      out += more;
      const [, folder] = /, some of them traps, in (\S+)\n.*^Plan: /ms.exec(out) ?? [];
      if (folder !== undefined) resolve(folder);
    });
    child.on("close", () => reject(new Error(out)));
  });
  const [errors, status] = [text(child.stderr), once(child, "close")];
  const folder = await planned;
  // It takes its run away when it has shown everything.
  child.kill("SIGSTOP");
  const run = join(folder, "run");
  const { ask, ironic } = await proxyScene(t, 0, () => ({ run }));
  child.kill("SIGCONT");
  for (const id of [2, 1]) ironic.nodes.push({ ...nodeOf(id), uuid: caseUuid("node", id) });
  for (const id of [1, 2]) {
    const { body } = await ask(`GET /v2.1/os-baremetal-nodes/${id}`);
    const { node } = body as { readonly node: { readonly id: string } };
    assert.equal(node.id, caseUuid("node", id));
  }
  assert.equal((await ask("GET /v2.1/os-baremetal-nodes/99")).status, 404);
  assert.deepEqual(await status, [0, null], out);
  assert.match(out, /^ {2}yes {2}after rollback Ironic is what it was, by digest$/m);
  assert.doesNotMatch(out, /^ {2}NO /m);
  const said = new Set(`${out}${await errors}`.split("\n"));
  const shown = blocks(README, "text").flatMap((block) => block.trimEnd().split("\n"));
  assert.deepEqual(
    shown.filter((line) => !said.has(line)),
    [],
  );
});

test("README's command of the proxy serves as it is printed", async (t) => {
  const [keystone, ironic] = [await standInKeystone(t), await standInIronic(t, 3)];
  keystone.tokens.set("admin", { roles: ["admin"] });
  const commands = blocks(README, "sh")
    .flatMap((block) => block.split("\n"))
    .filter((line) => line.startsWith("nova2ironic serve "))
    // Other hosts, and a port that nobody has.
    .map((line) =>
      line
        .replace("https://keystone:5000", keystone.url)
        .replace("https://ironic:6385", ironic.url)
        .concat(" --listen 127.0.0.1:0")
        .split(" ")
        .slice(1),
    );
  const [serve = [], ...others] = commands;
  assert.deepEqual(others, []);
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
