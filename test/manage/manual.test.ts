import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { runs } from "../hostile/cli.ts";
import { privateFolder } from "../hostile/deployment.ts";
import { blocks, commands, expected, page } from "../support/manual.ts";
import { addRunning, dumped, inMemory } from "./in-memory.ts";

test("the manual's commands of machines that run already do what the page says", async (t) => {
  const cloud = await inMemory(t);
  for (const at of [1, 2]) addRunning(cloud, at);
  const folder = privateFolder(t);
  const clouds = join(folder, "clouds.yaml");
  const { ironic: baremetal_endpoint_override, neutron: network_endpoint_override } = cloud;
  const lab = { auth_type: "none", baremetal_endpoint_override, network_endpoint_override };
  writeFileSync(clouds, JSON.stringify({ clouds: { lab } }));
  writeFileSync(join(folder, "machines.csv"), "node,name,metadata.rack\nn-2,web-2,7\n");
  const here = (word: string) => (/^(s\d|machines\.csv)$/.test(word) ? join(folder, word) : word);
  const how = { env: { OS_CLIENT_CONFIG_FILE: clouds } };
  const says = async (words: readonly string[]): Promise<string> => {
    const { out, err } = await runs(0, words.map(here), how);
    return out + err;
  };
  const before = dumped(cloud);
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
