import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { test } from "node:test";
import { assertRefusal, run, runs } from "../hostile/cli.ts";
import { dumped, type InMemory, uuidOf } from "./in-memory.ts";
import { BROKEN, REFUSED, scene, serverOf, writes } from "./scene.ts";

test("a machine to be taken back is named by its node, else by its record, never by what means two", async (t) => {
  const { cloud, at } = await scene(t, 3);
  const words = [...at, ...cloud.words];
  await runs(0, ["node", "manage", "n-1", "n-2", ...words], cloud.how);
  await runs(0, ["node", "manage", "n-2", "web-2", ...words], cloud.how);
  const both = await run(["node", "unmanage", "n-2", ...words, "--yes"], cloud.how);
  assertRefusal(both, 64, "N2I-E306", /n-2 matches more than one machine/);
  const other = await run(["node", "unmanage", "n-3", ...words, "--yes"], cloud.how);
  assertRefusal(other, 64, "N2I-E306", /this run did not manage n-3/);
  assert.equal(cloud.allocations.size, 2);
  await runs(0, ["node", "unmanage", "web-2", ...words, "--yes"], cloud.how);
  assert.equal(serverOf(cloud, 2), "null");
  await runs(0, ["node", "unmanage", uuidOf(1, 1).toUpperCase(), ...words, "--yes"], cloud.how);
  assert.equal(cloud.allocations.size, 0);
  for (const most of ["0", "-1", "0.5"]) {
    const back = await run(
      ["rollback", ...words, "--all", "--yes", "--in-flight", most],
      cloud.how,
    );
    assertRefusal(back, 64, "N2I-E100", /in-flight/);
  }
});

test("status tells how to take back what is open, and nothing that has its record", async (t) => {
  const { cloud, at } = await scene(t, 3);
  const words = [...at, ...cloud.words];
  await runs(0, ["node", "manage", "n-1", "web-1", ...words], cloud.how);
  deafAfter(cloud, 1);
  await run(["node", "manage", "n-3", "web-3", ...words], cloud.how);
  cloud.use(() => null);
  const status = await runs(0, ["status", ...at]);
  const [, next = ""] = /Next: nova2ironic (.*)$/m.exec(status.out + status.err) ?? [];
  assert.match(next, new RegExp(`^rollback --run \\S+ --node ${uuidOf(1, 3)}$`));
  await runs(0, [...next.split(" "), ...cloud.words, "--yes"], cloud.how);
  assert.notEqual(serverOf(cloud, 1), "null");
  assert.equal(serverOf(cloud, 3), "null");
  assert.equal(cloud.allocations.size, 1);
});

test("a way back that does not see a port of its journal says so, and stays open", async (t) => {
  const { cloud, at, before } = await scene(t);
  const words = [...at, ...cloud.words];
  await runs(0, ["node", "manage", "n-1", "web-1", ...words], cloud.how);
  const hidden = cloud.network.get(uuidOf(3, 1)) ?? assert.fail();
  cloud.network.delete(uuidOf(3, 1));
  const back = ["rollback", ...words, "--all", "--yes"];
  const { out, err } = await runs(2, back, cloud.how);
  assert.match(out + err, /port 3\S+ was not restored: it is not visible in Neutron/);
  cloud.network.set(uuidOf(3, 1), hidden);
  await runs(0, back, cloud.how);
  assert.equal(dumped(cloud), before);
});

test("an operator's maintenance stays his on the way back, whenever it began", async (t) => {
  const theirs = { maintenance: true, maintenance_reason: "a disk is changed" };
  for (const when of [/^GET/, /^DELETE .*allocations/]) {
    const { cloud, at } = await scene(t);
    const words = [...at, ...cloud.words];
    const node = cloud.nodes.get(uuidOf(1, 1)) ?? assert.fail();
    await runs(0, ["node", "manage", "n-1", "web-1", ...words], cloud.how);
    const hasCome = cloud.once(when, () => Object.assign(node, theirs));
    await runs(0, ["rollback", ...words, "--all", "--yes"], cloud.how);
    assert.ok(hasCome());
    const { maintenance, maintenance_reason, instance_uuid } = node;
    assert.deepEqual({ maintenance, maintenance_reason }, theirs, String(when));
    assert.equal(instance_uuid, null);
  }
});

/** @param nth of the calls that write, the one from which on nothing is answered any more */
function deafAfter(cloud: InMemory, nth: number): void {
  let passed = 0;
  cloud.use((call) => {
    if (passed > nth) return BROKEN;
    if (call.startsWith("GET")) return passed >= nth ? BROKEN : null;
    passed += 1;
    return passed > nth ? BROKEN : null;
  });
}

test("a way back that dies between its calls is gone on from by either way", async (t) => {
  const { cloud, at, before } = await scene(t);
  const words = [...at, ...cloud.words];
  const manage = ["node", "manage", "n-1", "web-1", ...words];
  const back = ["rollback", ...words, "--all", "--yes"];
  for (let nth = 1; nth < 4; nth += 1) {
    await runs(0, manage, cloud.how);
    deafAfter(cloud, nth);
    const died = await run(back, cloud.how);
    cloud.use(() => null);
    assert.notEqual(died.status, 0, died.err);
    if (nth === 1) {
      assert.equal(cloud.nodes.get(uuidOf(1, 1))?.maintenance, true, "or nothing is tried");
      const told = await run(["verify", ...words], cloud.how);
      assert.match(told.out + told.err, /it is in maintenance by this run: run rollback again/);
    }
    const again = await runs(0, manage, cloud.how);
    assert.doesNotMatch(again.out, /managed already/, `${nth}: ${again.out}`);
    assert.equal(cloud.nodes.get(uuidOf(1, 1))?.maintenance, false, `call ${nth}`);
    assert.notEqual(serverOf(cloud), "null");
    await runs(0, ["verify", ...words], cloud.how);
    await runs(0, back, cloud.how);
    assert.equal(dumped(cloud), before, `call ${nth}`);
  }
});

test("what somebody made of a machine whose record he deleted is his, and it is managed anew", async (t) => {
  const { cloud, at } = await scene(t);
  const words = [...at, ...cloud.words];
  const manage = ["node", "manage", "n-1", "web-1", ...words];
  const back = ["rollback", ...words, "--all", "--yes"];
  const id = uuidOf(1, 1);
  const node = cloud.nodes.get(id) ?? assert.fail();
  const port = cloud.network.get(uuidOf(3, 1)) ?? assert.fail();
  node.instance_info = { traits: ["CUSTOM_A"] };
  await runs(0, manage, cloud.how);
  cloud.allocations.clear();
  const his = { instance_uuid: null, allocation_uuid: null };
  Object.assign(node, his, { instance_info: { traits: ["CUSTOM_B"] } });
  Object.assign(port, { device_id: id, device_owner: "baremetal:none" });
  const before = dumped(cloud);
  cloud.calls.length = 0;
  const { err } = await runs(4, manage, cloud.how);
  assert.match(
    err,
    /N2I-E370 .*its record \S+ was deleted since: run node unmanage \S+, then manage it/,
  );
  await runs(0, back, cloud.how);
  assert.deepEqual(writes(cloud), []);
  assert.match((await runs(0, ["status", ...at])).out, /1 rolled back/);
  await runs(0, manage, cloud.how);
  assert.deepEqual(node.instance_info, { traits: ["CUSTOM_B"] });
  await runs(0, back, cloud.how);
  assert.equal(dumped(cloud), before);
});

test("traits that somebody wrote since are his", async (t) => {
  const { cloud, at } = await scene(t);
  const words = [...at, ...cloud.words];
  const node = cloud.nodes.get(uuidOf(1, 1)) ?? {};
  const traits = ["CUSTOM_A"];
  // Between what is looked at and the mark.
  const manage = ["node", "manage", "n-1", "web-1", ...words];
  let patches = 0;
  cloud.use((call) => {
    if (call.startsWith("PATCH")) patches += 1;
    if (patches === 1) node.instance_info = { traits };
  });
  await runs(0, manage, cloud.how);
  cloud.use(() => null);
  assert.deepEqual(node.instance_info, { traits });
  // And since: what a rollback finds is given back only where it is as a record leaves it.
  node.instance_info = { traits: ["CUSTOM_B"] };
  const again = await runs(0, manage, cloud.how);
  assert.match(again.out, /managed already/);
  await runs(0, ["rollback", ...words, "--all", "--yes"], cloud.how);
  assert.deepEqual(node.instance_info, { traits: ["CUSTOM_B"] });
});

test("what cannot be taken back is said of its machine", async (t) => {
  const { cloud, at, before } = await scene(t);
  let passed = 0;
  cloud.use((call) => {
    if (call.startsWith("GET")) return null;
    passed += 1;
    return passed >= 3 ? REFUSED : null;
  });
  const words = [...at, ...cloud.words];
  const ran = await run(["node", "manage", "n-1", "web-1", ...words], cloud.how);
  cloud.use(() => null);
  assertRefusal({ ...ran, out: "" }, 4, "N2I-E370", /not today.*; not rolled back: PUT of port/);
  await runs(0, ["rollback", ...words, "--all", "--yes"], cloud.how);
  assert.equal(dumped(cloud), before);
});

test("whichever call fails, a question too, a rollback gives back what was, and the list shows it again", async (t) => {
  const { cloud, at, before } = await scene(t);
  const listed = async (): Promise<string> =>
    (await runs(0, ["adoptable", ...cloud.words, "-f", "value", "-c", "Name"], cloud.how)).out;
  let [calls, nth] = [Number.POSITIVE_INFINITY, 1];
  for (; nth <= calls; nth += 1) {
    const own = [...at.slice(0, 1), `${at[1]}-${nth}`];
    const passed = cloud.fail(/./, REFUSED, nth);
    const ran = await run(["node", "manage", "n-1", "web-1", ...own, ...cloud.words], cloud.how);
    if (passed() < nth) calls = passed();
    cloud.use(() => null);
    if (existsSync(own[1] ?? ""))
      await runs(0, ["rollback", ...own, ...cloud.words, "--all", "--yes"], cloud.how);
    assert.equal(dumped(cloud), before, `call ${nth}: ${ran.err}`);
    assert.equal(await listed(), "n-1\n", `call ${nth}`);
  }
  assert.ok(calls > 15, `${calls} calls`);
});
