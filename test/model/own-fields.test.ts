import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Json } from "../../src/lib/json.ts";
import { compareRow } from "../../src/model/compare.ts";
import { isServiceField, SERVICE_FIELDS } from "../../src/model/ironic/service-fields.ts";
import type { Row } from "../../src/model/machine.ts";
import { loadTables, tablesVersions } from "../../src/run/files/load-tables.ts";
import { packageRoot } from "../../src/run/files/package-root.ts";
import { foundState } from "../../src/systems/ironic-api/move.ts";

const IMAGE = "d0000000-0000-4000-8000-00000000000a";
const GAVE_UP = "During sync_power_state, max retries exceeded for node u1, node state None";
const RENAMED = { instance_info: { original_image_source: IMAGE } };

/** A loaded row: what the plan says of every field somebody may change. */
const PLANNED: Row = {
  extra: { nova_bm: { id: 1, vif_port_id: "v1" } },
  provision_state: "active",
  maintenance: false,
  maintenance_reason: null,
  version: "1.37",
  driver_info: {},
  properties: { cpus: 4 },
  instance_info: { image_source: IMAGE },
  driver_internal_info: { is_whole_disk_image: false },
  internal_info: {},
};

interface Sample {
  /** What it writes, with all that stands beside it then. */
  readonly own: Row;
  /** What it would not write there: somebody did. */
  readonly notOwn?: Row;
}

const anything = (field: string, value: Json): readonly [string, Sample] => [
  field,
  { own: { [field]: value } },
];

/** An example of each field it writes by itself, and of the same field under somebody's hands. */
const SAMPLES: ReadonlyMap<string, Sample> = new Map<string, Sample>([
  anything("power_state", "power on"),
  anything("target_power_state", "power on"),
  anything("conductor_affinity", 7),
  anything("reservation", "conductor-1"),
  anything("last_error", "Async execution of _do_takeover failed"),
  anything("updated_at", "2026-01-01 00:00:00"),
  anything("boot_mode", "bios"),
  anything("secure_boot", false),
  anything("health", "ok"),
  ["version", { own: { version: "1.36" }, notOwn: { version: "1.99" } }],
  ["maintenance", given("maintenance", true)],
  ["maintenance_reason", given("maintenance_reason", GAVE_UP)],
  [
    "fault",
    { own: { fault: "power failure", maintenance: true }, notOwn: { fault: "clean failure" } },
  ],
  [
    "*_interface",
    { own: { deploy_interface: "direct" }, notOwn: { deploy_interface_of: "a fork" } },
  ],
  inside("properties", "vendor", "supermicro", { capabilities: "boot_mode:uefi" }),
  inside(
    "driver_internal_info",
    "*",
    { deploy_boot_mode: "bios", deploy_steps: null },
    { deploy_steps: [{ step: "deploy" }] },
  ),
  inside("instance_info", "deploy_key", "X1", { configdrive: "somebody's" }),
  inside("instance_info", "kernel", "k1", { stage2: "s1" }),
  inside("instance_info", "ramdisk", "r1", { stage2: "s1" }),
  inside("instance_info", "image_type", "partition", { image_type: "of a fork" }),
  ["instance_info.image_source", renamed({ image_source: "another" })],
  ["instance_info.original_image_source", renamed({ original_image_source: "another" })],
  ["instance_info.boot_iso", renamed({ boot_iso: "another" }, { boot_iso: "b1" })],
  [
    "driver_internal_info.is_whole_disk_image",
    {
      own: { ...RENAMED, driver_internal_info: {} },
      notOwn: { driver_internal_info: { is_whole_disk_image: true } },
    },
  ],
  inside("internal_info", "tenant_vif_port_id", "v1", { tenant_vif_port_id: "v2" }),
]);

/** What a conductor writes when it gave up, or a person over an old error of it. */
function given(field: string, value: Json): Sample {
  const own = { maintenance: true, maintenance_reason: GAVE_UP, last_error: GAVE_UP };
  return {
    own: { ...own, [field]: value },
    notOwn: { ...own, maintenance_reason: "a disk is being replaced" },
  };
}

function inside(
  column: string,
  key: string,
  value: Json,
  notOwn: Readonly<Record<string, Json>>,
): readonly [string, Sample] {
  const planned = Object(PLANNED[column]);
  const own = key === "*" ? Object(value) : { [key]: value };
  return [
    `${column}.${key}`,
    { own: { [column]: { ...planned, ...own } }, notOwn: { [column]: { ...planned, ...notOwn } } },
  ];
}

function renamed(
  notOwn: Readonly<Record<string, Json>>,
  more: Readonly<Record<string, Json>> = {},
): Sample {
  return {
    own: { ...RENAMED, instance_info: { ...RENAMED.instance_info, ...more } },
    notOwn: { instance_info: { image_source: IMAGE, ...notOwn } },
  };
}

const compared = (found: Row) => compareRow(PLANNED, { ...PLANNED, ...found }, () => false);

for (const { field, when } of SERVICE_FIELDS)
  test(`${field} is Ironic's own over rows and REST, and seen when somebody else wrote it`, () => {
    const sample = SAMPLES.get(field);
    assert.ok(sample !== undefined, "an example stands in this table");
    const { differs, allowed: own } = compared(sample.own);
    assert.deepEqual(differs, []);
    assert.ok(own.length > 0, "it differs from the plan");
    const row = { ...PLANNED, ...sample.own };
    assert.equal(foundState(PLANNED, row, () => false, true).is, "planned");
    if (sample.notOwn !== undefined) {
      assert.notDeepEqual(compared(sample.notOwn).differs, []);
      const other = { ...PLANNED, ...sample.notOwn };
      assert.equal(foundState(PLANNED, other, () => false, true).is, "changed");
    }
    // What the plan gives is not filled in: who changes it is somebody.
    if (when === "empty" && !field.includes("*")) {
      const change = { planned: "of the plan", found: "another" };
      assert.ok(!isServiceField(field, change, { planned: PLANNED, found: row }));
    }
  });

test("every example is of a field in the table", () => {
  assert.deepEqual(
    [...SAMPLES.keys()].toSorted(),
    SERVICE_FIELDS.map(({ field }) => field).toSorted(),
  );
});

/** Columns no conductor writes on a machine nobody touches, and that no load writes either. */
const SOMEBODYS: ReadonlySet<string> = new Set([
  ...["chassis_id", "allocation_id", "lessee", "description", "shard", "parent_node"],
  ...["inspection_started_at", "inspection_finished_at", "raid_config", "target_raid_config"],
  ...["clean_step", "deploy_step", "service_step", "network_data", "retired_reason"],
  // Of ports.
  ...["portgroup_id", "local_link_connection", "physical_network", "vendor", "category"],
]);

test("every column of Ironic's nodes and ports is given by a rule, its own, or only somebody's to write", () => {
  const { tables } = loadTables("ironic", tablesVersions("ironic").at(-1));
  const planned = plannedColumns();
  const own = new Set(SERVICE_FIELDS.map(({ field }) => field));
  const unknown = ["nodes", "ports"].flatMap((table) =>
    (tables[table]?.columns ?? [])
      .map(({ name }) => name)
      .filter((name) => !/^(id|node_id|\w+_interface)$/.test(name) && !own.has(name))
      .filter((name) => !planned.has(name) && !SOMEBODYS.has(name))
      .map((name) => `${table}.${name}`),
  );
  assert.deepEqual(unknown, []);
});

function plannedColumns(): ReadonlySet<string> {
  const path = join(packageRoot(), "mappings", "rules.json");
  // mappings/schema/rules.schema.json has the form; other tests hold the document to it.
  const rules = JSON.parse(readFileSync(path, "utf8")) as Record<
    "node" | "port",
    readonly { readonly to: string }[]
  >;
  return new Set([...rules.node, ...rules.port].map(({ to }) => to.split(".")[0] ?? ""));
}

test("a field of its own names releases there are, and no column before there was one", () => {
  const releases = tablesVersions("ironic");
  for (const { field, since, until = since } of SERVICE_FIELDS) {
    assert.ok(releases.indexOf(since) >= 0, `${field}: since ${since}`);
    assert.ok(releases.indexOf(until) >= releases.indexOf(since), `${field}: until ${until}`);
    const column = field.split(".")[0] ?? "";
    if (column.includes("*")) continue;
    const there = ["nodes", "ports"].some((table) =>
      (loadTables("ironic", since).tables[table]?.columns ?? []).some(
        ({ name }) => name === column,
      ),
    );
    assert.ok(there, `${field}: ${since} has ${column}`);
  }
});
