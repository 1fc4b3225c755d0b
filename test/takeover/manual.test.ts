import assert from "node:assert/strict";
import { test } from "node:test";
import { ends, run } from "../hostile/cli.ts";
import { commands, page } from "../support/manual.ts";
import { deadCloud, QUICK } from "./cloud.ts";

test("the commands of the page of a dead host are run as they stand", async (t) => {
  const shown = commands(page("dead-host"));
  const cloud = await deadCloud(t);
  const here = (word: string): string =>
    word === "file:/root/nova.url"
      ? String(cloud.nova[1])
      : word === "h1"
        ? String(cloud.at[1])
        : word;
  for (const words of shown) {
    // Nobody waits a minute for a host that is dead for ten.
    const quick = words[1] === "takeover" ? QUICK : [];
    await ends(0, run([...words.map(here), ...quick], { bare: true }));
  }
  assert.equal((await cloud.owners())[0], "1 H2 NULL H2");
});
