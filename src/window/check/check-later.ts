import type { BmFacts, CheckView, PlacementFacts, Provider } from "../../model/check.ts";
import type { Lacking } from "../../model/database.ts";
import { createTextSet, index, type TextSet } from "../../model/rows.ts";
import type { Database } from "../../systems/database/open.ts";
import { inPortions } from "../../systems/database/rows.ts";
import {
  readApi,
  readClassless,
  readComputeUuids,
  readPlacement,
} from "../../systems/nova-db/later.ts";
import { orWhy } from "./check-cloud.ts";

/** What of later Novas is in databases of their own. */
interface Later {
  readonly cloud: Database | null;
  readonly api: Database | null;
  readonly placement: Database | null;
}

type Nodes = BmFacts["nodes"];

export async function laterNova(
  { cloud, api, placement }: Later,
  nodes: Nodes,
  forbidden: () => Promise<Lacking>,
): Promise<Pick<CheckView, "api" | "placement" | "computes" | "classless">> {
  const both = cloud !== null && placement !== null;
  return {
    api:
      api &&
      (await orWhy("nova-api-db", api, async () => ({
        ...(await readApi(api, claimed(nodes))),
        forbidden: await forbidden(),
      }))),
    placement:
      placement && (await orWhy("placement-db", placement, () => placed(placement, nodes))),
    computes: both ? await computesOf(cloud, nodes) : new Map(),
    classless: both ? await classlessOf(cloud, nodes) : createTextSet(),
  };
}

/** Instances that rows name. */
export function* instancesOf(
  rows: Iterable<{ readonly instance_uuid: string | null }>,
): Generator<string> {
  for (const { instance_uuid } of rows) if (instance_uuid) yield instance_uuid;
}

function* claimed(nodes: Nodes): Generator<string> {
  yield* instancesOf(nodes);
}

/** Some machines at a time: their own uuids, and those of the instances they claim. */
function* inParts(nodes: Nodes) {
  for (const some of inPortions(nodes))
    yield {
      machines: some.flatMap(({ uuid }) => (uuid === null ? [] : [uuid])),
      tenants: [...instancesOf(some)],
    };
}

async function placed(placement: Database, nodes: Nodes): Promise<PlacementFacts> {
  const allocated: (Provider & { readonly consumer: string })[] = [];
  const providers: Provider[] = [];
  // Of no machine too: whether it is Placement's database.
  const parts = nodes.length === 0 ? [{ machines: [], tenants: [] }] : inParts(nodes);
  for (const { machines, tenants } of parts) {
    const found = await readPlacement(placement, tenants, machines);
    for (const rows of found.allocated.values()) for (const row of rows) allocated.push(row);
    for (const row of found.providers) providers.push(row);
  }
  const on = index(allocated, "consumer");
  return { providers, allocated: { get: (instance) => some(on(instance)) } };
}

/** Those there are; undefined for none, as of a map. */
function some<T>(rows: readonly T[]): readonly T[] | undefined {
  return rows.length === 0 ? undefined : rows;
}

async function computesOf(cloud: Database, nodes: Nodes): Promise<CheckView["computes"]> {
  const found: { readonly machine: string; readonly uuid: string }[] = [];
  for (const { machines } of inParts(nodes)) {
    const computes = await readComputeUuids(cloud, machines);
    if (computes === null) return null;
    for (const [machine, uuid] of computes) found.push({ machine, uuid });
  }
  const of = index(found, "machine");
  return { get: (machine) => of(machine).at(-1)?.uuid };
}

async function classlessOf(cloud: Database, nodes: Nodes): Promise<TextSet> {
  const found = createTextSet();
  for (const { tenants } of inParts(nodes))
    for (const instance of await readClassless(cloud, tenants)) found.add(instance);
  return found;
}
