import assert from "node:assert/strict";
import { cpSync, mkdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { novaPlanOf } from "../../src/migrate/hosts/nova-files.ts";
import { type RawRow, select } from "../../src/systems/database/rows.ts";
import { openWriting } from "../../src/systems/database/write.ts";
import type { CaseRow } from "../cases/case.ts";
import { fleets } from "../support/arbitrary.ts";
import { digestDatabase } from "../support/digest.ts";
import { type Mutation, mutationsOf } from "../support/mutations.ts";
import { planned, planOf, targetOf, type Workplace, withCase } from "../support/planned-case.ts";
import { disturb, loaded, NODES, PORTS, rich, told } from "../support/rich.ts";
import { holdsLater } from "../support/seeded.ts";
import { applied, artefact, rolledBack, verified } from "../support/stages.ts";

function again(at: Workplace, name: string): Workplace {
  const path = `${at.run.path}-${name}`;
  mkdirSync(path, { mode: 0o700 });
  const other = { ...at, run: { path } };
  cpSync(artefact(at, "snapshot"), artefact(other, "snapshot"));
  return other;
}

test("whatever the fleet, a plan loads, verifies, is done when it is done, and can be taken back", async () => {
  await holdsLater(6, fleets, (given) =>
    withCase(given, async (at) => {
      const before = await digestDatabase(at.ironic, true);
      const { counts, sha256 } = await planned(at);

      const twin = again(at, "twin");
      assert.equal((await planned(twin)).sha256, sha256);
      assert.deepEqual(
        readFileSync(artefact(twin, "plan")),
        readFileSync(artefact(at, "plan")),
        "the same snapshot gives the same plan, byte for byte",
      );

      const { done: created } = await applied(at);
      assert.equal(created, counts.nodes + counts.ports, "what is planned is created");

      const {
        tally: { uncleaned: _, ...tally },
      } = await verified(at);
      const left_out = counts.machines - counts.verdicts.create;
      assert.deepEqual(
        tally,
        {
          ...{ validated: created, mismatched: 0, missing: 0, extra: 0, suspended: 0 },
          ...{ used: 0, ironics_own: 0, staged: 0, left_out },
        },
        "what is created is as planned",
      );

      const second = again(at, "second");
      const after = (await planned(second)).counts;
      assert.deepEqual(
        after.verdicts,
        { ...counts.verdicts, create: 0, unchanged: counts.verdicts.create },
        "a plan after its load is empty",
      );
      assert.deepEqual([after.nodes, after.ports], [0, 0]);

      const undone = await rolledBack(at);
      assert.deepEqual([undone.done, undone.skipped], [created, []]);
      assert.equal(await digestDatabase(at.ironic, true), before, "rollback is identity");
    }),
  );
});

function lower(value: unknown): string {
  return String(value).toLowerCase();
}

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
  await holdsLater(6, fleets, (given) =>
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
  );
});

test("whatever the fleet, each live instance of a machine that loads goes to the planned host, on its machine, and no other moves", async () => {
  await holdsLater(6, known, (given) =>
    withCase({ ...given, plan_nova: ["--compute-host", "iron"] }, async (at) => {
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
    }),
  );
});

/** What a conductor does by itself to a machine nobody touches. @source facts/ironic.md 1.6, 2.2, 2.3 */
const OWN = new Set([
  ...["power_state", "target_power_state", "conductor_affinity", "reservation", "updated_at"],
  ...["last_error", "boot_mode", "secure_boot", "driver_internal_info.stranger"],
]);

/** Columns whose change moves the row away: places.test.ts has those. */
const MOVING = new Set(["id", "uuid", "node_id"]);

/** Rows that what is mutated may point at. */
async function parents({ ironic }: Workplace): Promise<void> {
  const rows = {
    chassis: {},
    conductors: { hostname: "conductor" },
    allocations: { uuid: "a", state: "active" },
    portgroups: {},
  };
  for (const [table, row] of Object.entries(rows))
    if (await ironic.knex.schema.hasTable(table)) {
      const trx = await openWriting(ironic);
      await trx(table).insert({ id: 7, ...row });
      await trx.commit();
    }
}

function expected({ field, column, kind, to }: Mutation, was: RawRow): string {
  if (kind === "broken") return "suspended: ";
  const filledIn = column.endsWith("_interface") && was[column] === null && to !== null;
  // The window's own protection, taken away at its end.
  const cleared =
    (column === "automated_clean" && to === null) || (column === "protected" && to === 0);
  return `${OWN.has(field) || filledIn || cleared ? "validated" : "mismatched"}: ${field}`;
}

/** Mutates each field of a row in turn, and puts it back. */
async function mutateAll(at: Workplace, resource: "node" | "port", uuid: string): Promise<number> {
  const { release } = await targetOf(at.ironic);
  const sql = `SELECT * FROM ${resource}s WHERE uuid = ?`;
  const [was = {}] = await select(at.ironic, sql, [uuid]);
  const columns = release[resource].filter(({ name }) => !MOVING.has(name));
  const mutations = mutationsOf(was, columns);
  for (const mutation of mutations) {
    const { column, to } = mutation;
    const update = `UPDATE ${resource}s SET ${column} = ? WHERE uuid = ?`;
    await disturb(at.ironic, update, [to, uuid]);
    assert.deepEqual(
      (await told(at)).map(
        (row) => `${row.uuid} ${row.state}: ${row.differs.map(({ field }) => field).join()}`,
      ),
      [`${uuid} ${expected(mutation, was)}`],
      `${resource}s.${column} = ${String(to)}`,
    );
    await disturb(at.ironic, update, [was[column], uuid]);
  }
  assert.deepEqual(await told(at), []);
  return mutations.length;
}

test("verify finds every single change of a column or key", async () => {
  await loaded(rich("2023.1"), async (at) => {
    await parents(at);
    assert.ok((await mutateAll(at, "node", NODES[0])) > 60);
    assert.ok((await mutateAll(at, "port", PORTS[0])) > 10);
  });
});
