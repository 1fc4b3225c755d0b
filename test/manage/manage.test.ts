import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { objectOf } from "../../src/lib/json.ts";
import { assertRefusal, run, runs } from "../hostile/cli.ts";
import { privateFolder } from "../hostile/deployment.ts";
import { isWrite } from "../support/faulty-service.ts";
import { dumped, uuidOf } from "./in-memory.ts";
import { assertSkipped, BROKEN, eventsIn, FAULTS, LOST, REFUSED, scene, writes } from "./scene.ts";

const rowsIn = (out: string) =>
  JSON.parse(out) as readonly { readonly [column in "UUID" | "Name" | "Result" | "Why"]: string }[];

test("C-9, C-13: a machine is given its record, shown, compared, and loses it without a trace", async (t) => {
  const { cloud, at, node, does, manages, before, ...own } = await scene(t);
  const uuid = uuidOf(1, 1);
  const path = at[1] ?? "";
  const row = { UUID: uuid, Name: "web-1", Why: "" };
  const dry = await manages(1, "--dry-run", "-f", "json");
  assert.deepEqual(rowsIn(dry.out), [{ ...row, Server: null, Result: "to be managed" }]);
  assert.deepEqual([writes(cloud), existsSync(path)], [[], false], "there is no run");
  const said = ["--description", "a shop", "--property", "rack=7", "--availability-zone", "az1"];
  const made = await manages(1, ...said, "-f", "json", "--json");
  const server = own.server();
  assert.deepEqual(rowsIn(made.out), [{ ...row, Server: server, Result: "managed" }]);
  assert.deepEqual(
    eventsIn(made.err).map(({ event }) => event),
    ["manage.start", "manage.end"],
  );
  const { name, node_uuid, state, extra } = cloud.allocations.get(server) ?? assert.fail();
  assert.deepEqual([name, node_uuid, state], ["web-1", uuid, "active"]);
  const kept = { managed: true, description: "a shop", availability_zone: "az1" };
  assert.deepEqual(extra, { nova2ironic: { ...kept, metadata: { rack: "7" } } });
  const port = cloud.network.get(uuidOf(3, 1));
  assert.deepEqual([port?.device_id, port?.device_owner], [server, "baremetal:none"]);
  const now = node();
  assert.deepEqual([now.extra, now.instance_info, now.maintenance], [{}, {}, false], "as it was");

  for (const more of [["--dry-run"], []]) {
    const again = await does(0, "manage", uuid, "web-1", ...more);
    assert.match(again.out, /managed already/);
  }
  const journal = await runs(0, ["show", join(path, "journal.jsonl")]);
  assert.match(journal.out, new RegExp(`manage.*${uuid}`));
  assert.match((await does(0, "verify")).err, /Verify: 3 rows validated, 0 mismatched/);
  const status = () => runs(0, ["status", ...at]);
  assert.match((await status()).out, /1 machine has a server record of this run/);
  const list = await runs(0, ["node", "list", "--adoptable", ...cloud.words], cloud.how);
  assert.equal(list.out.trim(), "");

  cloud.network.set("x", { ...port, id: "x" });
  const plan = await does(0, "rollback", "--all", "--plan", "-f", "csv");
  assert.match(plan.out, new RegExp(`"restore","node","${uuid}"`));
  cloud.network.delete("x");
  await does(0, "unmanage", "n-1", "--yes");
  assert.equal(dumped(cloud), before);
  assert.match((await status()).out, /1 rolled back/);
  assert.doesNotMatch(writes(cloud).join("\n"), /power|provision/);
});

test("a call that is refused leaves nothing behind, and one whose answer is lost is not made twice", async (t) => {
  const { cloud, at, before, server, manages, undone } = await scene(t);
  await manages();
  const made = writes(cloud);
  assert.deepEqual(
    made.map((call) => call.replaceAll(/[0-9a-f-]{36}/g, "U")),
    ["PATCH /v1/nodes/U", "PUT /v2.0/ports/U", "POST /v1/allocations", "PATCH /v1/nodes/U"],
  );
  await undone();
  for (const [what, fault] of Object.entries(FAULTS))
    for (let nth = 1; nth <= made.length; nth += 1) {
      const own = ["--run", `${at[1]}-${what}-${nth}`, ...cloud.words];
      cloud.calls.length = 0;
      cloud.fail(isWrite, fault, nth);
      const ran = await run(["node", "manage", "n-1", "web-1", ...own], cloud.how);
      cloud.use(() => null);
      const told = `${what} ${nth}: ${ran.err}`;
      if (what === "REFUSED" || what === "DENIED") {
        // The second is its port's, which may be another project's: that is a reason of this machine.
        if (what === "DENIED" && nth !== 2) assert.match(ran.err, /N2I-E211 .*not today/);
        else assertSkipped(ran, /not today/);
      } else {
        assert.equal(ran.status, 0, told);
        assert.notEqual(server(), "null", told);
        const once = writes(cloud).filter((call) => call.startsWith("POST"));
        assert.equal(once.length, what === "LOST" || nth !== 3 ? 1 : 2, told);
        await runs(0, ["rollback", ...own, "--all", "--yes"], cloud.how);
      }
      assert.equal(dumped(cloud), before, told);
    }
});

test("a rollback of which any call fails is finished by the next one", async (t) => {
  const { cloud, node, server, tries, manages, undone } = await scene(t);
  const back = () => tries("rollback", "--all", "--yes");
  await manages();
  cloud.calls.length = 0;
  await undone();
  const calls = writes(cloud).length;
  assert.equal(calls, 4, writes(cloud).join());
  for (const fault of [LOST, BROKEN, REFUSED])
    for (let nth = 1; nth <= calls; nth += 1) {
      await manages();
      cloud.fail(isWrite, fault, nth);
      const ran = await back();
      cloud.use(() => null);
      if (fault === REFUSED) {
        assert.equal(ran.status, 2, ran.err + ran.out);
        const isEnd = nth === 3; // the end of the maintenance itself
        assert.equal(node().maintenance, isEnd, `call ${nth}`);
        assert.match(ran.out + ran.err, /not today/);
      }
      await undone(`call ${nth}`);
    }
  // Its record alone is not deleted: it is in service again, with its port.
  await manages();
  cloud.fail(/^DELETE .*allocations/, BROKEN);
  const { out, err } = await back();
  assert.match(out + err, /N2I-E210/);
  assert.deepEqual([node().maintenance, cloud.allocations.size], [false, 1]);
  assert.equal(cloud.network.get(uuidOf(3, 1))?.device_id, server());
  cloud.use(() => null);
  await undone();
});

test("what stands against a machine is told, and a record's name that is taken", async (t) => {
  const { cloud, node, words, tries, manages } = await scene(t, 3);
  Object.assign(node(2), { retired: true, resource_class: null });
  const before = dumped(cloud);
  assertSkipped(await tries("node", "manage", "n-2", "web-2"), /no resource class; it is retired/);
  const unknown = await tries("node", "manage", "n-9", "web-9");
  assertRefusal(unknown, 64, "N2I-E306", /Ironic has no node "n-9"/);
  assert.equal(dumped(cloud), before);
  await manages();
  const one = dumped(cloud);
  const taken = await tries("node", "manage", "n-3", "web-1");
  assertSkipped(taken, /An allocation with name web-1 already exists/);
  assert.equal(dumped(cloud), one);
  const bare = await run(["node", "manage", "n-3", "web-3", ...words]);
  assertSkipped(bare, /no endpoint of Neutron is known/);
});

test("a node that is given by its uuid is that one, though another is called so", async (t) => {
  const { cloud, node, server, does, tries } = await scene(t, 2);
  const uuid = uuidOf(1, 2);
  const given = ["node", "manage", uuid, "web-2"];
  node().name = uuid;
  await does(0, ...given);
  assert.deepEqual([server(1), server(2) === "null"], ["null", false]);
  await does(0, "rollback", "--all", "--yes");
  // Ironic would hand out whatever is called so once the node is gone.
  cloud.nodes.delete(uuid);
  const [before, since] = [dumped(cloud), writes(cloud).length];
  assertRefusal(await tries(...given), 1, "N2I-E212", /returned unexpected data for GET \S+/);
  assert.deepEqual([dumped(cloud), writes(cloud).length], [before, since]);
});

// The second has no port of a tenant: it is not marked before.
for (const nth of [1, 2])
  test(`a record that Ironic makes in vain is deleted, and its machine is as before: ${nth}`, async (t) => {
    const { cloud, tries, ...at } = await scene(t, 2);
    Object.assign(cloud.ports.get(uuidOf(2, 2)) ?? {}, { internal_info: {} });
    cloud.network.delete(uuidOf(3, 2));
    const [before, node] = [dumped(cloud), at.node(nth)];
    cloud.once("POST /v1/allocations", () => Object.assign(node, { resource_class: "silver" }));
    const ran = await tries("node", "manage", `n-${nth}`, `web-${nth}`);
    assertSkipped(ran, /Ironic does not allocate it: Cannot backfill an allocation/);
    assert.equal(cloud.allocations.size, 0);
    const deleted = writes(cloud).filter((call) => call.startsWith("DELETE /v1/allocations"));
    assert.equal(deleted.length, 1);
    node.resource_class = "gold";
    assert.equal(dumped(cloud), before);
  });

test("what the command line says wrong is told before anything is opened", async (t) => {
  const folder = privateFolder(t);
  const at = ["--run", join(folder, "run"), "--ironic-url", "http://127.0.0.1:9"];
  const long = "x".repeat(256);
  for (const [words, why] of [
    [["n", ""], /name: 1 to 255/],
    [["n", long], /name: 1 to 255/],
    [["n", "  "], /name: 1 to 255/],
    [["n", "a\u0007b"], /name: no control characters/],
    [["n", "we b"], /name: Ironic accepts only letters, digits/],
    [["n", "a\u0007b", "--nova", "--flavor", "bm"], /name: no control characters/],
    [["n", uuidOf(1, 1)], /name: must not be a UUID/],
    [["n", "web", "--property", "a/b=c"], /metadata "a\/b": letters/],
    [["n", "web", "--property", `${long}=c`], /metadata "x+": letters.* 1 to 255/],
    [["n", "web", "--property", "a"], /--property takes KEY=VALUE/],
    [["n", "web", "--description", long], /description: at most 255/],
    [["n", "web", "--in-flight", "0"], /--in-flight takes a whole number/],
    [["n"], /needs <name> or --from/],
    [["n", "web", "--nova"], /--nova needs --flavor/],
    [["n", "web", "--flavor", "bm"], /--flavor needs --nova/],
    [["n", "web", "--adoptable"], /node manage has no option --adoptable/],
  ] as const)
    assertRefusal(await run(["node", "manage", ...words, ...at]), 64, "N2I-E100", why);
  const policy = ["--keystone-url", "http://127.0.0.1:9", "--policy-file", join(folder, "none")];
  const served = await run(["serve", "manageable", ...at, ...policy]);
  assertRefusal(served, 64, "N2I-E109", /none/);
});

test("machines of a file are managed several at a time, those that cannot be are left", async (t) => {
  const { cloud, folder, at, node, server, does, undone } = await scene(t, 12);
  node(5).instance_uuid = "other";
  const file = join(folder, "machines.csv");
  const lines = Array.from(
    { length: 12 },
    (_, one) => `n-${one + 1},web-${one + 1},"a, ""b""",r${one}`,
  );
  writeFileSync(file, ["node,name,description,metadata.rack", ...lines, ""].join("\r\n"));
  const ran = await does(3, "node", "manage", "--from", file, "-f", "json", "--json");
  const left = ran.err.split("\n").filter((line) => line.includes(uuidOf(1, 5)));
  assert.match(left[0] ?? "", /"manage\.start"/);
  assert.match(left[1] ?? "", /"manage\.error".*"why":"it already has instance other"/);
  const journal = readFileSync(join(at[1] ?? "", "journal.jsonl"), "utf8");
  assert.ok(!journal.includes(uuidOf(1, 5)), "of one that was left as it was found it has nothing");
  const rows = rowsIn(ran.out);
  assert.equal(rows.length, 12);
  assert.deepEqual(
    rows.flatMap(({ UUID, Result, Why }) => (Result === "managed" ? [] : [[UUID, Result, Why]])),
    [[uuidOf(1, 5), "left", "it already has instance other"]],
  );
  assert.deepEqual(cloud.allocations.get(server(3))?.extra, {
    nova2ironic: { managed: true, description: 'a, "b"', metadata: { rack: "r2" } },
  });
  node(5).instance_uuid = null;
  await undone();
});

test("machines of a list in YAML are managed, each with what the list says of it", async (t) => {
  const { cloud, folder, server, does, undone } = await scene(t, 2);
  const file = join(folder, "machines.yaml");
  const text = `# two of a rack
- node: n-1
  name: web-1
  description: "a shop: the first"
  availability_zone: az1
  metadata: { rack: "7", "on call": ops }
- { node: ${uuidOf(1, 2).toUpperCase()}, name: web-2 }
`;
  writeFileSync(file, text);
  const { out } = await does(0, "node", "manage", "--from", file, "-f", "json");
  const told = rowsIn(out).map(({ UUID, Name }) => `${UUID} ${Name}`);
  assert.deepEqual(told, [`${uuidOf(1, 1)} web-1`, `${uuidOf(1, 2)} web-2`]);
  const kept = [1, 2].map((one) => cloud.allocations.get(server(one)) ?? assert.fail());
  const metadata = { rack: "7", "on call": "ops" };
  const first = { managed: true, description: "a shop: the first", availability_zone: "az1" };
  assert.deepEqual(
    kept.map(({ name = null, extra }) => ({ name, ...objectOf(objectOf(extra).nova2ironic) })),
    [
      { name: "web-1", ...first, metadata },
      { name: "web-2", managed: true },
    ],
  );
  await undone();
});

test("a file is read whole before the first call, and every fault in it is told", async (t) => {
  const { cloud, folder, words } = await scene(t, 2);
  const id = uuidOf(1, 1);
  const latin1 = Buffer.from("node,name,description\nn-1,a,B\u00fcro\n", "latin1");
  const twice = /node "n-1" is listed more than once; name "a" is listed/;
  const semicolons = /its cells are separated by semicolons, not by commas/;
  for (const [name, content, code, why] of [
    ["a.csv", "node,name\nn-1,a\nn-1,b\nn-2,a\n", "N2I-E100", twice],
    ["b.csv", "node,colour\nn-1,red\n", "N2I-E103", /no column name; unknown column "colour"/],
    ["c.csv", 'node,name\nn-1,"a\n', "N2I-E103", /line 2 is not valid CSV/],
    ["d.csv", "node,name\nn-1,a,b\n", "N2I-E103", /line 2 has 3 cells/],
    ["e.csv", "node,name\n", "N2I-E103", /no machine is listed/],
    [
      "f.yaml",
      "- node: n-1\n  name: [a]\n- 7\n",
      "N2I-E103",
      /not text; machine 2 is not an object/,
    ],
    ["g.csv", `node,name\n${id.toUpperCase()},a\n${id},b\n`, "N2I-E100", /listed more than once/],
    ["h.csv", `node,name\nn-1,a\n${id},b\n`, "N2I-E100", /node [^" ]+ is listed more than once/],
    ["i.csv", "node;name\nn-1;a\n", "N2I-E103", semicolons],
    ["j.csv", "", "N2I-E103", /j.csv: it is empty/],
    ["k.csv", latin1, "N2I-E103", /it is not valid UTF-8/],
  ] as const) {
    const file = join(folder, name);
    writeFileSync(file, content);
    assertRefusal(await run(["node", "manage", "--from", file, ...words]), 64, code, why);
  }
  assert.deepEqual(writes(cloud), []);
});

test("a run does one thing: it migrates machines, or it manages them", async (t) => {
  const { cloud, at, node, tries, manages } = await scene(t);
  await manages();
  const other = await run(["extract", ...at, "--nova-bm-db", "sqlite:////nowhere"]);
  assertRefusal(other, 4, "N2I-E315", /creates server records for machines/);
  const named = await tries("node", "manage", "n-1", "web-2");
  assertRefusal(named, 64, "N2I-E100", /already manages node \S+ as web-1/);
  // Whoever has it since, has it: what came to its end is taken back by a rollback alone.
  node().instance_uuid = "other";
  cloud.calls.length = 0;
  assertSkipped(await tries("node", "manage", "n-1", "web-1"), /already has instance other/);
  assert.deepEqual(writes(cloud), []);
  const none = await tries("rollback", "--node", uuidOf(1, 9), "--yes");
  assertRefusal(none, 64, "N2I-E306", /this run did not manage/);
});
