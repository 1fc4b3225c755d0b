import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { CaseRow } from "../../src/demo/case.ts";
import { fleets } from "../support/arbitrary.ts";
import { planned, planOf, withCase } from "../support/planned-case.ts";

/** N2I_RUNS=500 looks longer. */
const RUNS = Number(process.env.N2I_RUNS ?? 15);

function lower(value: unknown): string {
  return String(value).toLowerCase();
}

test("whatever the fleet, no machine loads whose live instance is not under a known nova-compute of its own, and on it", async () => {
  await fc.assert(
    fc.asyncProperty(fleets, (given) =>
      withCase(given, async (at) => {
        await planned(at);
        const { instances = [], services = [] } = given.nova ?? {};
        const rows = new Map<string, CaseRow>(instances.map((row) => [lower(row.uuid), row]));
        const names = new Set(services.map(({ host }) => host));
        for await (const lines of (await planOf(at)).lines())
          for (const { uuid, service_host, records } of lines) {
            const [node] = records.filter(({ resource }) => resource === "node");
            const row = rows.get(lower(node?.row.instance_uuid));
            if (row === undefined || row.deleted !== 0) continue;
            assert.equal(row.host, service_host);
            assert.ok(names.has(service_host));
            assert.equal(lower(row.node), lower(uuid));
          }
      }),
    ),
    { numRuns: RUNS, includeErrorInReport: true },
  );
});
