import assert from "node:assert/strict";
import type { Json } from "../../src/lib/json.ts";
import type { NovaInMemory } from "./nova-memory.ts";
import { back, forward, type Scene } from "./nova-ways.ts";

export async function forwardEnds(at: Scene, why: RegExp, what?: string): Promise<void> {
  assert.match((await forward(at)).join(), why, what);
}

export async function backEnds(at: Scene, why: RegExp, what?: string): Promise<void> {
  assert.match((await back(at)).join(), why, what);
}

/** Expects the only server, as Nova has it. */
export function serverIn({ servers }: NovaInMemory): Record<string, Json> {
  return [...servers.values()][0] ?? assert.fail("there is no server");
}

/** Expects how its node is, and how many servers there are. */
export function assertIs(
  { cloud }: Pick<Scene, "cloud">,
  driver: string,
  held: boolean,
  servers?: number,
): void {
  const { driver: is = null, maintenance = null } = cloud.node;
  assert.deepEqual([is, maintenance], [driver, held]);
  if (servers !== undefined) assert.equal(cloud.servers.size, servers);
}

/** Gives its node the driver and the interfaces of another state of it, as an operator does by hand. */
export function giveHardware({ cloud: { node } }: Scene, from: object): void {
  for (const [name, value] of Object.entries(from))
    if (/^driver$|_interface$/.test(name)) node[name] = value;
}

export async function undone(at: Scene, what?: string): Promise<void> {
  assert.deepEqual(await back(at), [], what);
  assert.equal(at.cloud.dump(), at.before, what);
}
