import { join } from "node:path";
import type { TestContext } from "node:test";
import { pauseShorter } from "../../src/systems/openstack/passing.ts";
import { privateFolder } from "../hostile/deployment.ts";
import { type Fault, isWrite } from "../support/faulty-service.ts";
import { addRunning, dumped, type InMemory, inMemory, uuidOf } from "./in-memory.ts";

export async function scene(t: TestContext, nodes = 1) {
  pauseShorter(0);
  t.after(() => pauseShorter(1));
  const cloud = await inMemory(t);
  for (let at = 1; at <= nodes; at += 1) addRunning(cloud, at);
  const folder = privateFolder(t);
  return { cloud, folder, at: ["--run", join(folder, "run")], before: dumped(cloud) };
}

/** Calls that may change something. @param from how many calls to skip */
export const writes = ({ calls }: Pick<InMemory, "calls">, from = 0): readonly string[] =>
  calls.slice(from).filter(isWrite);

export function serverOf(cloud: InMemory, at = 1): string {
  return String(cloud.nodes.get(uuidOf(1, at))?.instance_uuid);
}

export const LOST: Fault = { done: true, says: null };
export const BROKEN: Fault = { done: false, says: null };
const text = JSON.stringify({ error_message: JSON.stringify({ faultstring: "not today" }) });
export const REFUSED: Fault = { done: false, says: { status: 400, text } };
export const DOWN: Fault = { done: false, says: { status: 503, text } };

export const DENIED: Fault = { done: false, says: { status: 403, text } };
