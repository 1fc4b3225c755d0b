import { test } from "node:test";
import { killedFinish, killedRelease } from "./support/kills.ts";

/** Before and after the journal entry of the second machine. */
for (const point of ["start.before:2", "start.after:2", "return.before:2", "returned.after:2"])
  test(`killed at ${point}, a release goes on, and all of it can be taken back`, (t) =>
    killedRelease(t, "sqlite", point));

for (const point of ["start.after:2", "close.before:1"])
  test(`killed at ${point}, finish goes on, and all of it can be taken back`, (t) =>
    killedFinish(t, "sqlite", point));
