import assert from "node:assert/strict";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { Engine } from "../../src/model/database.ts";
import { readJournal } from "../../src/run/files/journal.ts";
import { SWITCH_MARK } from "../../src/switchover/rules/switching.ts";
import { openSwitchNova } from "../../src/switchover/switchover-nova.ts";
import { loadNova } from "../cases/load-case.ts";
import { assertRefusal, type Ran, run } from "../hostile/cli.ts";
import { privateFolder } from "../hostile/deployment.ts";
import { engines, test } from "../lab/engines.ts";
import { addressFile, withDatabase } from "../lab/index.ts";
import { type InMemory, uuidOf } from "../manage/in-memory.ts";
import { REFUSED, writes } from "../manage/scene.ts";
import { requestsIn } from "../support/requests.ts";
import { back, CLAIMED, faults, forward, hurried, PLAN, type Scene, scene } from "./scene.ts";
import { addPair, SOURCE, SPARE, switchable, switchedDump } from "./switch-memory.ts";

const SERVER = uuidOf(9, 1);

/** The version of Nova whose instances name their compute node by its id. */
const BY_ID = "ab450ba04102";
type Version = 254 | "8f2f1571d55b" | typeof BY_ID;

/** Nova's rows: a server on the source, whose nova-compute is H1; H2 has the spare. */
async function novaOf(t: TestContext, engine: Engine = "sqlite", version: Version = BY_ID) {
  const made = await withDatabase(engine, t);
  const { db } = made;
  const byId = version === BY_ID;
  const hosts = ["H1", "H2"];
  await loadNova(db, engine, {
    shows: "a server of Nova on a machine that fails",
    nova_bm: { nodes: [] },
    nova: {
      ...{ version, info_caches: [], flavors: [], extra_specs: [] },
      instances: [
        {
          ...{ id: 7, uuid: SERVER, node: SOURCE, host: "H1", vm_state: "active" },
          ...{ task_state: null, deleted: 0, launched_on: "H1", ...(byId && { compute_id: 1 }) },
        },
      ],
      services: hosts.map((host, at) => ({
        ...{ id: at + 1, host, binary: "nova-compute", topic: "compute", report_count: 1 },
        ...{ deleted: 0, disabled: false, forced_down: false, version: 60 },
      })),
      compute_nodes: [SOURCE, SPARE].map((node, at) => ({
        ...{ id: at + 1, service_id: at + 1, host: hosts[at] ?? "", uuid: node, mapped: 1 },
        ...{ hypervisor_hostname: node, hypervisor_type: "ironic", hypervisor_version: 1 },
        ...{ deleted: 0, vcpus: 8, memory_mb: 1024, local_gb: 10, cpu_info: "{}" },
        ...{ vcpus_used: 0, memory_mb_used: 0, local_gb_used: 0 },
      })),
    },
  });
  await requestsIn(db);
  const account = await made.server?.restrictedUser("switches", made.name, "SELECT, UPDATE");
  const novaDb = addressFile(privateFolder(t), "nova", account?.url ?? made.url);
  const all = () => db("instances").orderBy("id");
  return {
    ...{ db, all, nova: ["--nova-db", novaDb], novaDb },
    row: async (): Promise<readonly unknown[]> => {
      const names = ["node", "host", "task_state", ...(byId ? ["compute_id"] : [])];
      const [row] = await db("instances").select(...names);
      // PostgreSQL tells a bigint as text.
      return names.map((name) => (name === "compute_id" ? Number(row[name]) : row[name]));
    },
  };
}

/** The same command on an Ironic in memory, whose source has a server of Nova's. */
async function cloudOf(t: TestContext) {
  hurried(t);
  const cloud = await switchable(t);
  addPair(cloud);
  ofNova(cloud);
  const own = ["--run", join(privateFolder(t), "o1"), "--ironic-url", cloud.ironic];
  const says = (...words: readonly string[]): Promise<Ran> => run([...words, ...own]);
  const goes = (...words: readonly string[]): Promise<Ran> =>
    says("node", "switchover", "n-1", "s-1", "--proof-interval", "0", ...words);
  return { cloud, says, goes };
}

function ofNova({ nodes, allocations }: InMemory): void {
  Object.assign(nodes.get(SOURCE) ?? {}, { allocation_uuid: null });
  allocations.clear();
}

/** Versions of Nova's schema, by the engine they are tried on. */
const TRIED = [
  ["sqlite", 254],
  ["sqlite", BY_ID],
  ["mysql", "8f2f1571d55b"],
  ["postgresql", BY_ID],
] as const;

for (const engine of engines())
  for (const [, version] of TRIED.filter(([one]) => one === engine))
    test(`on ${engine}, a server of Nova ${version} is held before its machine goes off, and is the spare's at the end`, async (t) => {
      const at = await novaOf(t, engine, version);
      const { cloud, says, goes } = await cloudOf(t);
      const seen: Promise<readonly unknown[]>[] = [];
      cloud.use((call) => {
        if (call !== `PUT /v1/nodes/${SOURCE}/states/power`) return null;
        const before = at.row();
        seen.push(before);
        return { done: true, before };
      });
      const ran = await goes(...at.nova);
      assert.equal(ran.status, 0, ran.err);
      const ids = (id: number) => (version === BY_ID ? [id] : []);
      assert.deepEqual((await Promise.all(seen))[0], [SOURCE, "H1", "migrating", ...ids(1)]);
      assert.deepEqual(await at.row(), [SPARE, "H2", null, ...ids(2)]);
      const [row] = await at.all();
      assert.equal(row.launched_on, "H1");
      assert.equal((await says("verify", ...at.nova)).status, 0);
      assert.equal((await says("verify")).status, 0);
      const without = await says("verify", "--without", "nova-db");
      assert.match(without.err, /N2I-E100 .*requires --nova-db/);
      await at.db("instances").update({ host: "H1" });
      const wrong = await says("verify", ...at.nova);
      assert.equal(wrong.status, 2, wrong.err);
      assert.match(wrong.out, new RegExp(`server ${SERVER}.*host`));
    });

test("the preview shows the changes of Nova's row, and writes nothing", async (t) => {
  const at = await novaOf(t);
  const { goes } = await cloudOf(t);
  const before = await at.all();
  const ran = await goes(...at.nova, "--dry-run", "-f", "csv");
  assert.equal(ran.status, 0, ran.err);
  assert.match(ran.out, /NOVA_HELD.*task_state.*\n.*SRC_OFF/);
  assert.match(ran.out, /NOVA_MOVED.*node, host, compute_id.*H1, 1.*H2, 2/);
  assert.deepEqual(await at.all(), before);
});

test("a server that Nova does not have as needed is refused before any change", async (t) => {
  const at = await novaOf(t);
  const { db, nova, all } = at;
  const { cloud, goes } = await cloudOf(t);
  const before = [switchedDump(cloud), await all(), await db("compute_nodes")];
  const other = { ...before[1]?.[0], id: 8, uuid: uuidOf(9, 2) };
  for (const [change, why] of [
    [() => db("instances").update({ task_state: "powering-off" }), /in task_state powering-off/],
    [() => db("instances").update({ vm_state: "rescued" }), /in vm_state rescued/],
    [() => db("instances").update({ node: SPARE }), /no live server \S+ on node/],
    [() => db("instances").update({ deleted: 7 }), /no live server \S+ on node/],
    [() => db("instances").insert({ ...other, node: SPARE }), /server \S+02 on node \S+11/],
    [() => db("instances").insert(other), /Nova also has server \S+02 on node \S+01/],
    [() => db("compute_nodes").where({ id: 2 }).del(), /0 live compute nodes of node \S+11/],
    [
      () => db("compute_nodes").where({ id: 2 }).update({ hypervisor_type: "QEMU" }),
      /its compute node has hypervisor_type QEMU/,
    ],
    [
      () =>
        db("instance_actions").insert({
          ...{ action: "stop", instance_uuid: SERVER, deleted: 0 },
          ...{ start_time: "2036-01-01 00:00:00", created_at: "2036-01-01 00:00:00" },
        }),
      /stop, requested at 2036\S* \S+, waits for nova-compute on H1/,
    ],
  ] as const) {
    await change();
    cloud.calls.length = 0;
    const ran = await goes(...nova);
    assertRefusal({ ...ran, out: "" }, 4, "N2I-E392", why);
    assert.deepEqual(writes(cloud), []);
    for (const [table, rows] of [
      ["instances", before[1]],
      ["compute_nodes", before[2]],
      ["instance_actions", []],
    ] as const) {
      await db(table).del();
      for (const row of rows as readonly object[]) await db(table).insert(row);
    }
  }
  assert.deepEqual([switchedDump(cloud), await all(), await db("compute_nodes")], before);
});

test("words about Nova that do not go together are refused", async (t) => {
  const { cloud, goes } = await cloudOf(t);
  for (const [words, code, why] of [
    [["--placement"], 64, /--placement needs --nova-db/],
    [["--nova-db", "env:X", "--leave-nova"], 64, /are mutually exclusive/],
    [[], 4, /N2I-E385 .*a Nova server/],
  ] as const) {
    const ran = await goes(...words);
    assert.equal(ran.status, code, ran.err);
    assert.match(ran.err, why);
  }
  assert.deepEqual(cloud.told, []);
});

test("a failure after Nova's row was changed restores it, as a rollback does", async (t) => {
  const at = await novaOf(t);
  const { cloud, goes } = await cloudOf(t);
  const before = [switchedDump(cloud), await at.all()];
  // Of the spare: the mark, fields, then the claim.
  cloud.fail(`PATCH /v1/nodes/${SPARE}`, REFUSED, 3);
  const ran = await goes(...at.nova);
  assert.equal(ran.status, 1, ran.err);
  assert.match(ran.err, /N2I-E389 .*not today/);
  assert.deepEqual([switchedDump(cloud), await at.all()], before);
});

test("after a nova-compute that starts clears the guard, nothing is deployed", async (t) => {
  const at = await novaOf(t);
  const { cloud, goes } = await cloudOf(t);
  const before = [switchedDump(cloud), await at.all()];
  let restarted: Promise<unknown> | null = null;
  cloud.use((call) => {
    if (call.startsWith("PATCH /v1/volume/targets/"))
      restarted ??= at.db("instances").update({ task_state: null }).then();
  });
  const ran = await goes(...at.nova);
  await restarted;
  assert.equal(ran.status, 1, ran.err);
  assert.match(ran.err, /N2I-E389 .*has changed since in task_state/);
  assert.deepEqual([switchedDump(cloud), await at.all()], before);
  assert.deepEqual(cloud.told, ["n-1 soft", "n-1 on"]);
});

async function novaScene(t: TestContext) {
  const at = await novaOf(t);
  assert.ok(at !== null);
  const there = await scene(t);
  ofNova(there.cloud);
  const ends: (() => unknown)[] = [];
  const place = { cloud: undefined as never, limit: 1000 }; // of Placement, which is not asked
  const nova = await openSwitchNova(
    { novaDb: at.novaDb },
    place,
    (opened) => {
      ends.push(() => opened.close());
      return opened;
    },
    { readOnly: false },
  );
  assert.ok(nova !== null);
  const server = await nova.serverOf(PLAN, false);
  const close = async () => {
    for (const end of ends) await end();
  };
  return { ...at, close, scene: { ...there, nova } satisfies Scene, plan: { ...PLAN, server } };
}

test("a death at any Nova step, or while the row is held, is resumed or undone", async (t) => {
  const whole = await novaScene(t);
  const before = [switchedDump(whole.scene.cloud), await whole.all()];
  await forward(whole.scene, { plan: whole.plan });
  const end = [switchedDump(whole.scene.cloud), await whole.all()];
  assert.deepEqual(await whole.row(), [SPARE, "H2", null, 2]);
  const entries = [...(await readJournal(whole.scene.run)).entries];
  await whole.close();
  const parts = entries.map((entry) => ("part" in entry ? entry.part : ""));
  const deployed = parts.indexOf("switchover-deploy");
  assert.equal(deployed, CLAIMED + 1 + 4, "two steps more, of two lines");
  const isNova = (at: number): boolean => parts[at]?.includes("nova") === true;
  const ofNova = [...entries.keys()].filter((at) => isNova(at) || isNova(at + 1));
  assert.equal(ofNova.length, 9, "three steps, of two lines, and the line before each");
  const [first = 0] = ofNova;
  const rows = parts.indexOf("switchover-nova-rows");
  // The steps between the hold and the change of the row: a death behind each line that begins one.
  const between = [...entries.keys()].slice(first + 1, rows).filter((at) => !isNova(at));
  const held = between.filter((at) => entries[at]?.do === "start");
  assert.deepEqual(Array.from(new Set(held.map((at) => parts[at]))), [
    ...["switchover-power", "switchover-maintenance", "switchover-unlink"],
    ...["switchover-volumes", "switchover-vifs", "switchover-fields"],
  ]);
  const deaths = [...ofNova, ...held];
  for (const died of deaths) {
    const at = await novaScene(t);
    await forward(at.scene, { plan: at.plan, lines: died });
    const { halted } = await forward(at.scene, { plan: at.plan });
    assert.equal(halted, null, `died after ${died} lines`);
    assert.deepEqual(await faults(at.scene), [], `died after ${died} lines`);
    assert.deepEqual([switchedDump(at.scene.cloud), await at.all()], end, `died after ${died}`);
    await at.close();
  }
  for (const died of deaths.filter((line) => line < deployed)) {
    const at = await novaScene(t);
    await forward(at.scene, { plan: at.plan, lines: died });
    assert.deepEqual(await back(at.scene), [], `died after ${died} lines`);
    assert.deepEqual([switchedDump(at.scene.cloud), await at.all()], before, `line ${died}`);
    await at.close();
  }
});

test("a rollback leaves the row of a server whose node another switchover has", async (t) => {
  const at = await novaScene(t);
  const before = await at.all();
  await forward(at.scene, { plan: at.plan, until: "switchover-maintenance" });
  const source = at.scene.cloud.nodes.get(SOURCE) ?? {};
  const { extra = null } = source;
  Object.assign(source, { extra: { [SWITCH_MARK]: "theirs" } });
  const theirs = `node ${SOURCE} is in switchover theirs: extra.${SWITCH_MARK}`;
  assert.deepEqual(await back(at.scene), [theirs]);
  assert.deepEqual(await at.row(), [SOURCE, "H1", "migrating", 1]);
  Object.assign(source, { extra });
  assert.deepEqual(await back(at.scene), []);
  assert.deepEqual(await at.all(), before);
  await at.close();
});
