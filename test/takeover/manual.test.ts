import assert from "node:assert/strict";
import { test } from "node:test";
import { runs } from "../hostile/cli.ts";
import { commands, expected, page } from "../support/manual.ts";
import { deadCloud, QUICK } from "./cloud.ts";

test("the commands of the page of a dead host are run as they stand", async (t) => {
  const cloud = await deadCloud(t);
  const [nova, run] = [cloud.nova[1] ?? "", cloud.at[1] ?? ""];
  const here = (word: string) =>
    word.replace(/^file:\/root\/nova\.url$/, nova).replace(/^h1$/, run);
  let told = "";
  for (const words of commands(page("dead-host"))) {
    // Nobody waits a minute for a host that is dead for ten.
    const quick = words[1] === "takeover" ? QUICK : [];
    const { out, err } = await runs(0, [...words.map(here), ...quick], { bare: true });
    told += out + err;
  }
  for (const line of expected("dead-host")) assert.ok(told.includes(line), line);
  assert.equal((await cloud.owners())[0], "1 H2 NULL H2");
});
