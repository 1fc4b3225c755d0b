import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { assertRefusal, run, runs } from "../hostile/cli.ts";
import { privateFolder } from "../hostile/deployment.ts";
import { isWrite } from "../support/faulty-service.ts";
import { dumped, uuidOf } from "./in-memory.ts";
import { BROKEN, DENIED, DOWN, LOST, REFUSED, scene, serverOf, writes } from "./scene.ts";

test("C-9, C-13: a machine is given its record, shown, compared, and loses it without a trace", async (t) => {
  const { cloud, at, before } = await scene(t);
  const node = uuidOf(1, 1);
  const words = [...at, ...cloud.words];
  const said = ["--description", "a shop", "--property", "rack=7", "--availability-zone", "az1"];
  const dry = await runs(
    0,
    ["node", "manage", "n-1", "web-1", ...words, "--dry-run", "-f", "json"],
    cloud.how,
  );
  assert.deepEqual(JSON.parse(dry.out), [
    { UUID: node, Name: "web-1", Server: null, Result: "to be managed", Why: "" },
  ]);
  assert.equal(dumped(cloud), before);
  assert.equal(existsSync(at[1] ?? ""), false, "there is no run");
  const made = await runs(
    0,
    ["node", "manage", "n-1", "web-1", ...words, ...said, "-f", "json", "--json"],
    cloud.how,
  );
  const server = serverOf(cloud);
  assert.deepEqual(JSON.parse(made.out), [
    { UUID: node, Name: "web-1", Server: server, Result: "managed", Why: "" },
  ]);
  const events = made.err
    .split("\n")
    .flatMap((line) => (line.startsWith("{") ? [JSON.parse(line) as { event?: string }] : []))
    .flatMap(({ event }) => event ?? []);
  assert.deepEqual(events, ["manage.start", "manage.end"]);
  const allocation = cloud.allocations.get(server);
  assert.deepEqual(
    [allocation?.name, allocation?.node_uuid, allocation?.state, allocation?.extra],
    [
      ...["web-1", node, "active"],
      {
        nova2ironic: {
          ...{ managed: true, description: "a shop", availability_zone: "az1" },
          metadata: { rack: "7" },
        },
      },
    ],
  );
  const port = cloud.network.get(uuidOf(3, 1));
  assert.deepEqual([port?.device_id, port?.device_owner], [server, "baremetal:none"]);
  const { extra, instance_info, maintenance } = cloud.nodes.get(node) ?? {};
  assert.deepEqual([extra, instance_info, maintenance], [{}, {}, false], "as it was otherwise");

  for (const dry of [["--dry-run"], []]) {
    const again = await runs(0, ["manage", node, "web-1", ...words, ...dry], cloud.how);
    assert.match(again.out, /managed already/);
  }
  const journal = await runs(0, ["show", join(at[1] ?? "", "journal.jsonl")]);
  assert.match(journal.out, new RegExp(`manage.*${node}`));
  const verified = await runs(0, ["verify", ...words], cloud.how);
  assert.match(verified.err, /Verify: 3 rows validated, 0 mismatched/);
  const status = await runs(0, ["status", ...at]);
  assert.match(status.out, /1 machine has a server record of this run/);
  const list = await runs(0, ["node", "list", "--adoptable", ...cloud.words], cloud.how);
  assert.equal(list.out.trim(), "");

  cloud.network.set("x", { ...port, id: "x" });
  const plan = await runs(0, ["rollback", ...words, "--all", "--plan", "-f", "csv"], cloud.how);
  assert.match(plan.out, new RegExp(`"restore","node","${node}"`));
  cloud.network.delete("x");
  await runs(0, ["unmanage", "n-1", ...words, "--yes"], cloud.how);
  assert.equal(dumped(cloud), before);
  const gone = await runs(0, ["status", ...at]);
  assert.match(gone.out, /1 rolled back/);
  assert.doesNotMatch(writes(cloud).join("\n"), /power|provision/);
});

test("a call that is refused leaves nothing behind, and one whose answer is lost is not made twice", async (t) => {
  const { cloud, at, before } = await scene(t);
  const words = ["node", "manage", "n-1", "web-1", ...cloud.words];
  await runs(0, [...words, ...at], cloud.how);
  const made = writes(cloud);
  const kinds = made.map((call) => call.replaceAll(/[0-9a-f-]{36}/g, "U"));
  assert.deepEqual(kinds, [
    ...["PATCH /v1/nodes/U", "PUT /v2.0/ports/U", "POST /v1/allocations", "PATCH /v1/nodes/U"],
  ]);
  await runs(0, ["rollback", ...at, ...cloud.words, "--all", "--yes"], cloud.how);
  assert.equal(dumped(cloud), before);
  for (const [what, fault] of Object.entries({ LOST, BROKEN, REFUSED, DENIED, DOWN }))
    for (let nth = 1; nth <= made.length; nth += 1) {
      const run_ = [...at.slice(0, 1), `${at[1]}-${what}-${nth}`];
      cloud.calls.length = 0;
      cloud.fail(isWrite, fault, nth);
      const ran = await run([...words, ...run_], cloud.how);
      cloud.use(() => null);
      const told = `${what} ${nth}: ${ran.err}`;
      if (what === "REFUSED" || what === "DENIED") {
        // The second is its port's, which may be another project's: that is a reason of this machine.
        if (what === "DENIED" && nth !== 2) assert.match(ran.err, /N2I-E211 .*not today/);
        else assertRefusal({ ...ran, out: "" }, 4, "N2I-E370", /not today/);
        assert.equal(dumped(cloud), before, told);
        continue;
      }
      assert.equal(ran.status, 0, told);
      assert.notEqual(serverOf(cloud), "null", told);
      const once = writes(cloud).filter((call) => call.startsWith("POST"));
      assert.equal(once.length, what === "LOST" || nth !== 3 ? 1 : 2, told);
      await runs(0, ["rollback", ...run_, ...cloud.words, "--all", "--yes"], cloud.how);
      assert.equal(dumped(cloud), before, told);
    }
});

test("a rollback of which any call fails is finished by the next one", async (t) => {
  const { cloud, at, before } = await scene(t);
  const back = ["rollback", ...at, ...cloud.words, "--all", "--yes"];
  const manage = ["node", "manage", "n-1", "web-1", ...at, ...cloud.words];
  await runs(0, manage, cloud.how);
  cloud.calls.length = 0;
  await runs(0, back, cloud.how);
  const calls = writes(cloud).length;
  assert.equal(calls, 4, writes(cloud).join());
  for (const fault of [LOST, BROKEN, REFUSED])
    for (let nth = 1; nth <= calls; nth += 1) {
      await runs(0, manage, cloud.how);
      cloud.fail(isWrite, fault, nth);
      const ran = await run(back, cloud.how);
      cloud.use(() => null);
      if (fault === REFUSED) {
        assert.equal(ran.status, 2, ran.err + ran.out);
        const isEnd = nth === 3; // the end of the maintenance itself
        assert.equal(cloud.nodes.get(uuidOf(1, 1))?.maintenance, isEnd, `call ${nth}`);
        assert.match(ran.out + ran.err, /not today/);
      }
      await runs(0, back, cloud.how);
      assert.equal(dumped(cloud), before, `call ${nth}`);
    }
  // Its record alone is not deleted: it is in service again, with its port.
  await runs(0, manage, cloud.how);
  cloud.fail(/^DELETE .*allocations/, BROKEN);
  const { out, err } = await run(back, cloud.how);
  assert.match(out + err, /N2I-E210/);
  const { maintenance } = cloud.nodes.get(uuidOf(1, 1)) ?? {};
  assert.deepEqual([maintenance, cloud.allocations.size], [false, 1]);
  assert.equal(cloud.network.get(uuidOf(3, 1))?.device_id, serverOf(cloud));
  cloud.use(() => null);
  await runs(0, back, cloud.how);
  assert.equal(dumped(cloud), before);
});

test("what stands against a machine is told, and a record's name that is taken", async (t) => {
  const { cloud, at } = await scene(t, 3);
  Object.assign(cloud.nodes.get(uuidOf(1, 2)) ?? {}, { retired: true, resource_class: null });
  const words = [...at, ...cloud.words];
  const before = dumped(cloud);
  const left = await run(["node", "manage", "n-2", "web-2", ...words], cloud.how);
  assertRefusal({ ...left, out: "" }, 4, "N2I-E370", /no resource class; it is retired/);
  const unknown = await run(["node", "manage", "n-9", "web-9", ...words], cloud.how);
  assertRefusal(unknown, 64, "N2I-E306", /Ironic has no node "n-9"/);
  assert.equal(dumped(cloud), before);
  await runs(0, ["node", "manage", "n-1", "web-1", ...words], cloud.how);
  const one = dumped(cloud);
  const taken = await run(["node", "manage", "n-3", "web-1", ...words], cloud.how);
  assertRefusal(
    { ...taken, out: "" },
    4,
    "N2I-E370",
    /An allocation with name web-1 already exists/,
  );
  assert.equal(dumped(cloud), one);
  const bare = await run(["node", "manage", "n-3", "web-3", ...words]);
  assertRefusal({ ...bare, out: "" }, 4, "N2I-E370", /no endpoint of Neutron is known/);
});

test("a node that is given by its uuid is that one, though another is called so", async (t) => {
  const { cloud, at } = await scene(t, 2);
  const uuid = uuidOf(1, 2);
  Object.assign(cloud.nodes.get(uuidOf(1, 1)) ?? {}, { name: uuid });
  const words = ["node", "manage", uuid, "web-2", ...at, ...cloud.words];
  await runs(0, words, cloud.how);
  assert.deepEqual([serverOf(cloud, 1), serverOf(cloud, 2) === "null"], ["null", false]);
  await runs(0, ["rollback", ...at, ...cloud.words, "--all", "--yes"], cloud.how);
  // Ironic would hand out whatever is called so once the node is gone.
  cloud.nodes.delete(uuid);
  const [before, since] = [dumped(cloud), writes(cloud).length];
  assertRefusal(await run(words, cloud.how), 1, "N2I-E212", /returned unexpected data for GET \S+/);
  assert.equal(dumped(cloud), before);
  assert.equal(writes(cloud).length, since);
});

test("a record that Ironic makes in vain is deleted, and its machine is as before", async (t) => {
  // The second has no port of a tenant: it is not marked before.
  for (const nth of [1, 2]) {
    const { cloud, at } = await scene(t, 2);
    Object.assign(cloud.ports.get(uuidOf(2, 2)) ?? {}, { internal_info: {} });
    cloud.network.delete(uuidOf(3, 2));
    const before = dumped(cloud);
    const node = cloud.nodes.get(uuidOf(1, nth)) ?? {};
    cloud.once("POST /v1/allocations", () => Object.assign(node, { resource_class: "silver" }));
    const words = ["node", "manage", `n-${nth}`, `web-${nth}`, ...at, ...cloud.words];
    const left = await run(words, cloud.how);
    const why = /Ironic does not allocate it: Cannot backfill an allocation/;
    assertRefusal({ ...left, out: "" }, 4, "N2I-E370", why);
    assert.equal(cloud.allocations.size, 0);
    const deleted = writes(cloud).filter((call) => call.startsWith("DELETE /v1/allocations"));
    assert.equal(deleted.length, 1);
    node.resource_class = "gold";
    assert.equal(dumped(cloud), before);
  }
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
  const { cloud, folder, at, before } = await scene(t, 12);
  Object.assign(cloud.nodes.get(uuidOf(1, 5)) ?? {}, { instance_uuid: "other" });
  const file = join(folder, "machines.csv");
  const lines = Array.from(
    { length: 12 },
    (_, one) => `n-${one + 1},web-${one + 1},"a, ""b""",r${one}`,
  );
  writeFileSync(file, ["node,name,description,metadata.rack", ...lines, ""].join("\r\n"));
  const words = ["node", "manage", "--from", file, ...at, ...cloud.words];
  const ran = await runs(3, [...words, "-f", "json", "--json"], cloud.how);
  const left = ran.err.split("\n").filter((line) => line.includes(uuidOf(1, 5)));
  assert.match(left[0] ?? "", /"manage\.start"/);
  assert.match(left[1] ?? "", /"manage\.error".*"why":"it already has instance other"/);
  const journal = readFileSync(join(at[1] ?? "", "journal.jsonl"), "utf8");
  assert.ok(!journal.includes(uuidOf(1, 5)), "of one that was left as it was found it has nothing");
  const rows = JSON.parse(ran.out) as readonly { readonly Result: string; readonly Why: string }[];
  assert.deepEqual(
    [rows.length, rows.filter(({ Result }) => Result === "managed").length],
    [12, 11],
  );
  assert.match(
    rows.find(({ Result }) => Result === "left")?.Why ?? "",
    /already has instance other/,
  );
  assert.deepEqual(cloud.allocations.get(serverOf(cloud, 3))?.extra, {
    nova2ironic: { managed: true, description: 'a, "b"', metadata: { rack: "r2" } },
  });
  await runs(0, ["rollback", ...at, ...cloud.words, "--all", "--yes"], cloud.how);
  Object.assign(cloud.nodes.get(uuidOf(1, 5)) ?? {}, { instance_uuid: null });
  assert.equal(dumped(cloud), before);
});

test("machines of a list in YAML are managed, each with what the list says of it", async (t) => {
  const { cloud, folder, at, before } = await scene(t, 2);
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
  const words = ["node", "manage", "--from", file, ...at, ...cloud.words];
  const { out } = await runs(0, [...words, "-f", "json"], cloud.how);
  const told = (JSON.parse(out) as readonly { readonly UUID: string; readonly Name: string }[]).map(
    ({ UUID, Name }) => [UUID, Name],
  );
  assert.deepEqual(told, [
    [uuidOf(1, 1), "web-1"],
    [uuidOf(1, 2), "web-2"],
  ]);
  const kept = [1, 2].map((one) => cloud.allocations.get(serverOf(cloud, one)));
  assert.deepEqual(
    kept.map((one) => [one?.name, one?.extra]),
    [
      [
        "web-1",
        {
          nova2ironic: {
            ...{ managed: true, description: "a shop: the first", availability_zone: "az1" },
            metadata: { rack: "7", "on call": "ops" },
          },
        },
      ],
      ["web-2", { nova2ironic: { managed: true } }],
    ],
  );
  await runs(0, ["rollback", ...at, ...cloud.words, "--all", "--yes"], cloud.how);
  assert.equal(dumped(cloud), before);
});

test("a file is read whole before the first call, and every fault in it is told", async (t) => {
  const { cloud, folder, at } = await scene(t, 2);
  const id = uuidOf(1, 1);
  const latin1 = Buffer.from("node,name,description\nn-1,a,B\u00fcro\n", "latin1");
  for (const [name, content, code, why] of [
    [
      "a.csv",
      "node,name\nn-1,a\nn-1,b\nn-2,a\n",
      "N2I-E100",
      /node "n-1" is listed more than once; name "a" is listed/,
    ],
    ["b.csv", "node,colour\nn-1,red\n", "N2I-E103", /no column name; unknown column "colour"/],
    ["c.csv", 'node,name\nn-1,"a\n', "N2I-E103", /line 2 is not valid CSV/],
    ["d.csv", "node,name\nn-1,a,b\n", "N2I-E103", /line 2 has 3 cells/],
    ["e.csv", "node,name\n", "N2I-E103", /no machine is listed/],
    [
      "f.yaml",
      "- node: n-1\n  name: [a]\n- 7\n",
      "N2I-E103",
      /name is not text; machine 2 is not an object/,
    ],
    [
      "g.csv",
      `node,name\n${id.toUpperCase()},a\n${id},b\n`,
      "N2I-E100",
      /is listed more than once/,
    ],
    ["h.csv", `node,name\nn-1,a\n${id},b\n`, "N2I-E100", /is listed more than once/],
    [
      "i.csv",
      "node;name\nn-1;a\n",
      "N2I-E103",
      /its cells are separated by semicolons, not by commas/,
    ],
    ["j.csv", "", "N2I-E103", /j.csv: it is empty/],
    ["k.csv", latin1, "N2I-E103", /it is not valid UTF-8/],
  ] as const) {
    const file = join(folder, name);
    writeFileSync(file, content);
    const ran = await run(["node", "manage", "--from", file, ...at, ...cloud.words]);
    assertRefusal(ran, 64, code, why);
  }
  assert.deepEqual(writes(cloud), []);
});

test("a run does one thing: it migrates machines, or it manages them", async (t) => {
  const { cloud, at } = await scene(t);
  const words = [...at, ...cloud.words];
  await runs(0, ["node", "manage", "n-1", "web-1", ...words], cloud.how);
  const other = await run(["extract", ...at, "--nova-bm-db", "sqlite:////nowhere"]);
  assertRefusal(other, 4, "N2I-E315", /creates server records for machines/);
  const named = await run(["node", "manage", "n-1", "web-2", ...words], cloud.how);
  assertRefusal(named, 64, "N2I-E100", /already manages node \S+ as web-1/);
  // Whoever has it since, has it: what came to its end is taken back by a rollback alone.
  Object.assign(cloud.nodes.get(uuidOf(1, 1)) ?? {}, { instance_uuid: "other" });
  cloud.calls.length = 0;
  const since = await run(["node", "manage", "n-1", "web-1", ...words], cloud.how);
  assertRefusal({ ...since, out: "" }, 4, "N2I-E370", /already has instance other/);
  assert.deepEqual(writes(cloud), []);
  const none = await run(["rollback", ...words, "--node", uuidOf(1, 9), "--yes"], cloud.how);
  assertRefusal(none, 64, "N2I-E306", /this run did not manage/);
});
