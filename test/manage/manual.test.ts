import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { runs } from "../hostile/cli.ts";
import { privateFolder } from "../hostile/deployment.ts";
import { blocks, commands, expected, page } from "../support/manual.ts";
import { addRunning, dumped, inMemory, uuidOf } from "./in-memory.ts";

/** Runs command lines of a page in a folder of their own, against machines in memory. */
async function place(t: TestContext) {
  const cloud = await inMemory(t);
  for (const at of [1, 2]) addRunning(cloud, at);
  const folder = privateFolder(t);
  const clouds = join(folder, "clouds.yaml");
  const lab = {
    baremetal_endpoint_override: cloud.ironic,
    network_endpoint_override: cloud.neutron,
  };
  writeFileSync(clouds, JSON.stringify({ clouds: { lab: { auth_type: "none", ...lab } } }));
  writeFileSync(join(folder, "machines.csv"), "node,name,metadata.rack\nn-2,web-2,7\n");
  const here = (word: string): string =>
    /^(s\d|machines\.csv)$/.test(word) ? join(folder, word) : word;
  const says = async (words: readonly string[], status = 0): Promise<string> => {
    const { out, err } = await runs(status, words.map(here), {
      env: { OS_CLIENT_CONFIG_FILE: clouds },
    });
    return out + err;
  };
  return { cloud, says, before: dumped(cloud) };
}

test("the manual's commands of spares list them, and end with 2 where one is missing", async (t) => {
  const { cloud, says } = await place(t);
  const node_uuid = uuidOf(1, 1);
  Object.assign(cloud.nodes.get(node_uuid) ?? {}, {
    storage_interface: "external",
    properties: { capabilities: "iscsi_boot:true" },
  });
  const target = { uuid: uuidOf(5, 1), volume_type: "iscsi", boot_index: 0, volume_id: "v" };
  cloud.targets.set(target.uuid, { ...target, node_uuid });
  const iqn = { uuid: uuidOf(6, 1), type: "iqn", connector_id: "iqn:1" };
  cloud.connectors.set(iqn.uuid, { ...iqn, node_uuid });
  const [shown = [], needed = []] = commands(page("switchover"));
  assert.match(await says(shown), /\| n-1 +\| +0 \|/);
  assert.match(await says(needed, 2), /^n-1: 0 of 1 spare$/m);
});

test("the manual's commands of machines that run already do what the page says", async (t) => {
  const { cloud, says, before } = await place(t);
  const managing = page("managing");
  let told = "";
  for (const words of commands(managing)) told += await says(words);
  const others = blocks(managing, "sh")
    .flatMap((block) => block.trim().split("\n"))
    .map((line) => line.replace(/ +#.*/, "").split(" ").slice(1))
    // test/manage/served.test.ts
    .filter(([command]) => command !== "serve");
  assert.equal(others.length, 3);
  for (const words of others)
    told += await says([...words, ...(words.includes("--from") ? [] : ["--yes"])]);
  for (const line of expected("managing")) assert.ok(told.includes(line), line);
  assert.equal(cloud.allocations.size, 1, "that of the file");
  await says(["rollback", "--run", "s2", "--all", "--yes"]);
  assert.equal(dumped(cloud), before);
});
