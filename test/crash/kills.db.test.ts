import { test } from "node:test";
import { killApplies, killRollbacks, prepared } from "./matrix.ts";
import { APPLYING, type Point, UNDOING } from "./points.ts";

/** The journal is the same whatever the server: what differs is what it makes of a transaction. */
const isCommit = ({ name }: Point): boolean => name.startsWith("commit.");

for (const [engine, isTried] of [
  ["sqlite", () => true],
  ["mysql", isCommit],
] as const)
  test(`on ${engine}, an apply and a rollback may be killed at any moment`, async (t) => {
    const scene = await prepared(engine, t);
    await killApplies(t, scene, APPLYING.filter(isTried));
    await killRollbacks(t, scene, UNDOING.filter(isTried));
  });
