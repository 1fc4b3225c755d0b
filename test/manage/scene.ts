import assert from "node:assert/strict";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { pauseShorter } from "../../src/systems/openstack/passing.ts";
import { assertRefusal, type Ran, run, runs } from "../hostile/cli.ts";
import { privateFolder } from "../hostile/deployment.ts";
import { type Fault, isWrite } from "../support/faulty-service.ts";
import { addRunning, dumped, type InMemory, inMemory, uuidOf } from "./in-memory.ts";

/** Machines that run, in services in memory, and a run of theirs. */
export async function scene(t: TestContext, nodes = 1) {
  pauseShorter(0);
  t.after(() => pauseShorter(1));
  const cloud = await inMemory(t);
  for (let at = 1; at <= nodes; at += 1) addRunning(cloud, at);
  const [before, folder] = [dumped(cloud), privateFolder(t)];
  const at = ["--run", join(folder, "run")];
  const words = [...at, ...cloud.words];
  const does = (status: number, ...line: readonly string[]) =>
    runs(status, [...line, ...words], cloud.how);
  return {
    ...{ cloud, folder, at, words, before, does },
    node: (nth = 1) => cloud.nodes.get(uuidOf(1, nth)) ?? assert.fail(),
    server: (nth = 1) => String(cloud.nodes.get(uuidOf(1, nth))?.instance_uuid),
    tries: (...line: readonly string[]) => run([...line, ...words], cloud.how),
    manages: (nth = 1, ...more: readonly string[]) =>
      does(0, "node", "manage", `n-${nth}`, `web-${nth}`, ...more),
    /** Rolls back the run, after which everything is as before. */
    async undone(what?: string) {
      await does(0, "rollback", "--all", "--yes");
      assert.equal(dumped(cloud), before, what);
    },
  };
}

/** Expects that the only machine of a command was skipped, for this reason. */
export function assertSkipped(ran: Ran, why: RegExp): void {
  assertRefusal({ ...ran, out: "" }, 4, "N2I-E370", why);
}

interface ItemEvent {
  readonly event: string;
  readonly node: string;
}

/** Events of machines that a command with --json wrote. */
export const eventsIn = (err: string): readonly ItemEvent[] =>
  err
    .split("\n")
    .flatMap((line) => (/^\{.*"node":/.test(line) ? [JSON.parse(line) as ItemEvent] : []));

/** Calls that may change something. @param from how many calls to skip */
export const writes = ({ calls }: Pick<InMemory, "calls">, from = 0): readonly string[] =>
  calls.slice(from).filter(isWrite);

export const LOST: Fault = { done: true, says: null };
export const BROKEN: Fault = { done: false, says: null };
const text = JSON.stringify({ error_message: JSON.stringify({ faultstring: "not today" }) });
export const REFUSED: Fault = { done: false, says: { status: 400, text } };
export const DOWN: Fault = { done: false, says: { status: 503, text } };
export const DENIED: Fault = { done: false, says: { status: 403, text } };
export const FAULTS = { LOST, BROKEN, REFUSED, DOWN, DENIED };
