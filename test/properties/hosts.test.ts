import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { CaseRow } from "../../src/demo/case.ts";
import { novaPlanOf } from "../../src/migrate/hosts/nova-files.ts";
import { fleets } from "../support/arbitrary.ts";
import { planned, planOf, type Workplace, withCase } from "../support/planned-case.ts";
import { seeded } from "../support/seeded.ts";

function lower(value: unknown): string {
  return String(value).toLowerCase();
}

/** Fleets whose nova is read. */
const known = fleets.filter(({ nova }) => nova !== null);

/** Where a plan for Nova puts instances, by their uuid. */
async function placesOf({ run }: Pick<Workplace, "run">): Promise<ReadonlyMap<string, CaseRow>> {
  const places = new Map<string, CaseRow>();
  const plan = await novaPlanOf(run, (await planOf({ run })).footer);
  for await (const steps of plan?.all() ?? [])
    for (const { table, after } of steps)
      if (table === "instances" && after !== null) places.set(lower(after.uuid), after);
  return places;
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
    { ...seeded(6), includeErrorInReport: true },
  );
});

test("whatever the fleet, each live instance of a machine that loads goes to the planned host, on its machine, and no other moves", async () => {
  await fc.assert(
    fc.asyncProperty(known, (generated) => {
      const given = {
        ...generated,
        plan_nova: ["--compute-host", "iron"],
      };
      return withCase(given, async (at) => {
        await planned(at);
        const places = new Map(await placesOf(at));
        for await (const lines of (await planOf(at)).lines())
          for (const { uuid, records, findings } of lines) {
            const [node] = records.filter(({ resource }) => resource === "node");
            const tenant = lower(node?.row.instance_uuid);
            if (typeof node?.row.instance_uuid !== "string") continue;
            // One that is deleted in nova, and accepted, stays where it is.
            if (findings.some(({ code }) => code === "N2I-D202")) continue;
            const place = places.get(tenant);
            assert.deepEqual([place?.host, lower(place?.node)], ["iron", lower(uuid)]);
            places.delete(tenant);
          }
        assert.deepEqual([...places], []);
      });
    }),
    { ...seeded(6), includeErrorInReport: true },
  );
});
