import assert from "node:assert/strict";
import { type Json, objectOf } from "../../src/lib/json.ts";
import { compareRow } from "../../src/model/compare.ts";
import type { Row } from "../../src/model/machine.ts";
import type { PlannedMachine, Resource } from "../../src/model/plan.ts";
import type { Scene } from "./scene.ts";

/** What the API calls otherwise, or does not tell. */
const UNTOLD: ReadonlySet<string> = new Set([
  ...["version", "conductor_affinity", "chassis_id", "allocation_id", "node_id", "portgroup_id"],
]);
const MASK = "******";

/**
 * Asserts that the real API tells of every planned row what the plan says, but for what a conductor
 * changes by itself, and answers 200 on the way.
 */
export async function assertTold(at: Scene): Promise<void> {
  const { api, plan } = at;
  await assertListed(at);
  for (const [resource, path] of [
    ["node", "/v1/nodes/detail"],
    ["port", "/v1/ports/detail"],
  ] as const) {
    const { status, body } = await api("GET", `${path}?limit=1000`);
    assert.equal(status, 200, JSON.stringify(body));
    const told = new Map(rowsOf(body, `${resource}s`).map((row) => [row.uuid, row]));
    for (const planned of loadedRows(plan(), resource)) {
      const found = told.get(planned.uuid ?? null);
      assert.ok(found !== undefined, `the API tells of ${resource} ${String(planned.uuid)}`);
      const fields = Object.keys(planned).filter((field) => !UNTOLD.has(field));
      const silent = fields.filter((field) => found[field] === undefined);
      assert.deepEqual(silent, [], `${resource} ${String(planned.uuid)}`);
      const { differs } = compareRow(said(planned, found), said(found, planned), () => false);
      assert.deepEqual(differs, [], `${resource} ${String(planned.uuid)}`);
    }
  }
}

/** The list a client sees first: every planned port, with its address. */
async function assertListed({ api, plan }: Scene): Promise<void> {
  const { status, body } = await api("GET", "/v1/ports");
  assert.equal(status, 200, JSON.stringify(body));
  const listed = new Map(rowsOf(body, "ports").map(({ uuid, address }) => [uuid, address]));
  for (const { uuid = null, address } of loadedRows(plan(), "port"))
    assert.equal(listed.get(uuid), address, `port ${String(uuid)}`);
}

export function loadedRows(plan: readonly PlannedMachine[], resource: Resource): readonly Row[] {
  return plan
    .filter(({ verdict }) => verdict === "create")
    .flatMap(({ records }) => records)
    .filter((record) => record.resource === resource)
    .map(({ row }) => row);
}

/** The fields both speak of, in one spelling. */
function said(row: Row, other: Row): Row {
  return Object.fromEntries(
    Object.entries(row)
      .filter(([column]) => !UNTOLD.has(column) && other[column] !== undefined)
      .map(([column, value]) => [column, spelled(column, value)]),
  );
}

function spelled(column: string, value: Json): Json {
  if (column.endsWith("_at") && typeof value === "string")
    return value.slice(0, 19).replace("T", " ");
  if (column === "driver_info")
    return Object.fromEntries(
      Object.entries(objectOf(value)).map(([key, own]) => [key, /password/.test(key) ? MASK : own]),
    );
  // The API tells them in no order.
  if (column === "traits" && Array.isArray(value)) return value.map(String).toSorted();
  return value;
}

function rowsOf(body: unknown, name: string): readonly Row[] {
  // The API's own form.
  return (body as { readonly [name: string]: readonly Row[] })[name] ?? [];
}
