import { test } from "node:test";
import { killed } from "./legacy-deaths.ts";

const deaths = [
  ...["start.before:1", "start.after:1", "legacy.guarded:1", "legacy.claimed:1", "boot.step:2"],
  ...["boot.step:7", "legacy.built:1", "nova.commit.before:2", "nova.commit.after:2"],
  ...["legacy.served:1", "legacy.released:1", "end.before:1", "end.after:1", "start.before:2"],
];
const backDeaths = [
  "return.before:1",
  "return.after:1",
  "legacy.claimed:1",
  "nova.commit.after:2",
  "legacy.released:2",
  "returned.before:1",
  "returned.after:2",
];

const COMMITS = /nova\.commit|claimed/;
const around = (points: readonly string[]) => points.filter((point) => COMMITS.test(point));

test("on sqlite, a move of nova-baremetal that is killed at any point goes on by the same words, or back", async (t) => {
  await killed(t, { engine: "sqlite", deaths, backDeaths });
});

for (const engine of ["mysql", "postgresql"] as const)
  test(`on ${engine}, a move of nova-baremetal that is killed around a commit goes on by the same words, or back`, async (t) => {
    await killed(t, { engine, deaths: around(deaths), backDeaths: around(backDeaths) });
  });
