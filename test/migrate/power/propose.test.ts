import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { caseUuid } from "../../cases/case.ts";
import { sqliteFile, writeCase } from "../../cases/write-case.ts";
import { run, runs } from "../../hostile/cli.ts";
import { privateFolder } from "../../hostile/deployment.ts";

const tenant = (id: number) => ({
  ...{ id, root_mb: 40_960, task_state: "active", instance_name: `tenant-${id}` },
  instance_uuid: caseUuid("instance", id),
});

const SIZE = { memory_mb: 49_152, root_gb: 40, ephemeral_gb: 0, swap: 0 };
const TENANTS = { ...SIZE, id: 1, name: "baremetal", flavorid: "11", vcpus: 8, deleted: 0 };
const SPARE = { ...TENANTS, id: 2, name: "spare", flavorid: "12", vcpus: 7 };
const API = { ...SIZE, rxtx_factor: 1, is_public: true, disabled: false };
const named = (id: number) => ({ id, name: `api-${id}`, flavorid: `${id}` });
const spec = (asked: string) => ({ key: `resources:${asked}`, value: "1" });

test("plan proposes a first site document; what only the operator knows is refused until it is filled in", async (t) => {
  const folder = privateFolder(t);
  const written = await writeCase(
    {
      ...{ shows: "three machines for 2023.1", allow_pairing: true },
      nova_bm: {
        nodes: [
          ...[tenant(1), { id: 2 }, { id: 3, cpus: 7 }, { id: 4, cpus: 9, task_state: "error" }],
          ...[
            { id: 5, cpus: 10 },
            { id: 6, cpus: 11 },
          ],
        ],
      },
      nova: {
        flavors: [TENANTS, SPARE, { ...SPARE, id: 3, flavorid: "13", name: "gone", deleted: 3 }],
        extra_specs: [2, 3].map((id) => ({
          ...spec(`CUSTOM_OF_${id}`),
          id,
          instance_type_id: id,
          deleted: 0,
        })),
      },
      nova_api: {
        flavors: [10, 11].map((vcpus) => ({ ...API, ...named(vcpus), vcpus })),
        extra_specs: [{ ...spec("CUSTOM_IRON"), id: 1, flavor_id: 10 }],
      },
      ironic: { release: "2023.1" },
    },
    folder,
  );
  const placement = sqliteFile(join(folder, "placement.sqlite"));
  for (const sql of [
    "CREATE TABLE resource_providers (id INTEGER, uuid TEXT, name TEXT)",
    "CREATE TABLE resource_classes (id INTEGER, name TEXT)",
    "CREATE TABLE inventories (resource_provider_id INTEGER, resource_class_id INTEGER)",
    `INSERT INTO resource_providers VALUES (1, '${caseUuid("node", 1)}', '${caseUuid("node", 1)}')`,
    "INSERT INTO resource_classes VALUES (10001, 'CUSTOM_GOLD')",
    "INSERT INTO inventories VALUES (1, 10001)",
  ])
    await placement.raw(sql);
  await placement.destroy();
  const at = ["--run", join(folder, "run")];
  await runs(0, ["extract", ...at, ...written.extract, "-q"]);
  const file = join(folder, "first.yaml");
  const plan = ["plan", ...at, ...written.ironic, "--allow-pairing", "--ironic-release", "2023.1"];
  const from = ["placement", "nova", "nova-api"].flatMap((role) => [
    ...[`--${role}-db`, `sqlite:///${join(folder, role.replace("-", "_"))}.sqlite`],
  ]);
  await runs(6, [...plan, ...from, "--propose-site", file]);
  const text = readFileSync(file, "utf8");
  const classOf = (id: number): string =>
    new RegExp(`"${caseUuid("node", id)}"}\n +set:\n +resource_class: ("[^"]*")`).exec(text)?.[1] ??
    "";
  // Placement's, that of all machines of the same size, a spare flavor's, nobody's, and nova_api's;
  // one that neither asks for a class nor names deploy images is for other hosts.
  const known = ['"gold"', '"gold"', '"of_2"', '""', '"iron"', '""'];
  assert.deepEqual([1, 2, 3, 4, 5, 6].map(classOf), known, text);
  const refused = await runs(64, [...plan, "--site", file]);
  assert.match(refused.err, /\/set\/resource_class does not have the form/s);
  // Somebody's decisions are not written over.
  const again = await run([...plan, "--propose-site", file]);
  assert.match(again.err, /N2I-E100.*it already exists/s);
  assert.equal(readFileSync(file, "utf8"), text);
  writeFileSync(file, text.replaceAll('resource_class: ""', "resource_class: silver"));
  const empty = await run([...plan, "--site", file]);
  if (/reason: ""/.test(text)) assert.match(empty.err, /\/reason is empty/);
  const reasoned = readFileSync(file, "utf8").replaceAll('reason: ""', 'reason: "looked at it"');
  writeFileSync(file, reasoned);
  const { out } = await runs(6, [...plan, "--site", file]);
  assert.doesNotMatch(out, /N2I-D407/);
});
