import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { test } from "node:test";
import { assertRefusal, run, runs } from "../hostile/cli.ts";
import { dumped, type InMemory, uuidOf } from "./in-memory.ts";
import { BROKEN, REFUSED, scene, writes } from "./scene.ts";

const BACK = ["rollback", "--all", "--yes"] as const;

test("a machine to be taken back is named by its node, else by its record, never by what means two", async (t) => {
  const { cloud, server, does, tries, manages } = await scene(t, 3);
  const unmanage = (node: string) => tries("node", "unmanage", node, "--yes");
  await does(0, "node", "manage", "n-1", "n-2");
  await manages(2);
  const both = await unmanage("n-2");
  assertRefusal(both, 64, "N2I-E306", /n-2 matches more than one machine/);
  assertRefusal(await unmanage("n-3"), 64, "N2I-E306", /this run did not manage n-3/);
  assert.equal(cloud.allocations.size, 2);
  assert.equal((await unmanage("web-2")).status, 0);
  assert.equal(server(2), "null");
  assert.equal((await unmanage(uuidOf(1, 1).toUpperCase())).status, 0);
  assert.equal(cloud.allocations.size, 0);
  for (const most of ["0", "-1", "0.5"])
    assertRefusal(await tries(...BACK, "--in-flight", most), 64, "N2I-E100", /in-flight/);
});

test("status tells how to take back what is open, and nothing that has its record", async (t) => {
  const { cloud, at, server, tries, manages } = await scene(t, 3);
  await manages();
  deafAfter(cloud, 1);
  await tries("node", "manage", "n-3", "web-3");
  cloud.use(() => null);
  const status = await runs(0, ["status", ...at]);
  const [, next = ""] = /Next: nova2ironic (.*)$/m.exec(status.out + status.err) ?? [];
  assert.match(next, new RegExp(`^rollback --run \\S+ --node ${uuidOf(1, 3)}$`));
  await runs(0, [...next.split(" "), ...cloud.words, "--yes"], cloud.how);
  assert.notEqual(server(1), "null");
  assert.equal(server(3), "null");
  assert.equal(cloud.allocations.size, 1);
});

test("a way back that does not see a port of its journal says so, and stays open", async (t) => {
  const { cloud, does, manages, undone } = await scene(t);
  await manages();
  const hidden = cloud.network.get(uuidOf(3, 1)) ?? assert.fail();
  cloud.network.delete(uuidOf(3, 1));
  const { out, err } = await does(2, ...BACK);
  assert.match(
    out + err,
    /port 3\S+ was not restored: it is not visible in Neutron with these credentials/,
  );
  cloud.network.set(uuidOf(3, 1), hidden);
  await undone();
});

test("an operator's maintenance stays his on the way back, whenever it began", async (t) => {
  const theirs = { maintenance: true, maintenance_reason: "a disk is changed" };
  for (const when of [/^GET/, /^DELETE .*allocations/]) {
    const { cloud, node, does, manages } = await scene(t);
    await manages();
    const hasCome = cloud.once(when, () => Object.assign(node(), theirs));
    await does(0, ...BACK);
    assert.ok(hasCome());
    const { maintenance, maintenance_reason, instance_uuid } = node();
    assert.deepEqual({ maintenance, maintenance_reason }, theirs, String(when));
    assert.equal(instance_uuid, null);
  }
});

/** @param nth of the calls that write, the one from which on nothing is answered any more */
function deafAfter(cloud: InMemory, nth: number): void {
  let passed = 0;
  cloud.use((call) => {
    if (call.startsWith("GET")) return passed >= nth ? BROKEN : null;
    passed += 1;
    return passed > nth ? BROKEN : null;
  });
}

test("a way back that dies between its calls is gone on from by either way", async (t) => {
  const { cloud, node, server, does, tries, manages, undone } = await scene(t);
  for (let nth = 1; nth < 4; nth += 1) {
    await manages();
    deafAfter(cloud, nth);
    const died = await tries(...BACK);
    cloud.use(() => null);
    assert.notEqual(died.status, 0, died.err);
    if (nth === 1) {
      assert.equal(node().maintenance, true, "or nothing is tried");
      const told = await tries("verify");
      assert.match(told.out + told.err, /it is in maintenance by this run: run rollback again/);
    }
    const again = await manages();
    assert.doesNotMatch(again.out, /managed already/, `${nth}: ${again.out}`);
    assert.equal(node().maintenance, false, `call ${nth}`);
    assert.notEqual(server(), "null");
    await does(0, "verify");
    await undone(`call ${nth}`);
  }
});

test("what somebody made of a machine whose record he deleted is his, and it is managed anew", async (t) => {
  const { cloud, at, does, manages, ...own } = await scene(t);
  const node = own.node();
  node.instance_info = { traits: ["CUSTOM_A"] };
  await manages();
  cloud.allocations.clear();
  const his = { instance_uuid: null, allocation_uuid: null };
  Object.assign(node, his, { instance_info: { traits: ["CUSTOM_B"] } });
  const freed = { device_id: uuidOf(1, 1), device_owner: "baremetal:none" };
  Object.assign(cloud.network.get(uuidOf(3, 1)) ?? assert.fail(), freed);
  const before = dumped(cloud);
  cloud.calls.length = 0;
  const { err } = await does(4, "node", "manage", "n-1", "web-1");
  const why = /N2I-E370 .*its record \S+ has been deleted: run node unmanage \S+, then manage it/;
  assert.match(err, why);
  await does(0, ...BACK);
  assert.deepEqual(writes(cloud), []);
  assert.match((await runs(0, ["status", ...at])).out, /1 rolled back/);
  await manages();
  assert.deepEqual(node.instance_info, { traits: ["CUSTOM_B"] });
  await does(0, ...BACK);
  assert.equal(dumped(cloud), before);
});

test("traits that somebody wrote since are his", async (t) => {
  const { cloud, does, manages, ...at } = await scene(t);
  const node = at.node();
  const traits = ["CUSTOM_A"];
  // Between what is looked at and the mark.
  let patches = 0;
  cloud.use((call) => {
    if (call.startsWith("PATCH")) patches += 1;
    if (patches === 1) node.instance_info = { traits };
  });
  await manages();
  cloud.use(() => null);
  assert.deepEqual(node.instance_info, { traits });
  // And since: what a rollback finds is given back only where it is as a record leaves it.
  node.instance_info = { traits: ["CUSTOM_B"] };
  assert.match((await manages()).out, /managed already/);
  await does(0, ...BACK);
  assert.deepEqual(node.instance_info, { traits: ["CUSTOM_B"] });
});

test("whichever call fails, a question too, a rollback gives back what was, and the list shows it again", async (t) => {
  const { cloud, at, before } = await scene(t);
  const listed = async (): Promise<string> =>
    (
      await runs(
        0,
        ["node", "list", "--adoptable", ...cloud.words, "-f", "value", "-c", "Name"],
        cloud.how,
      )
    ).out;
  let [calls, nth] = [Number.POSITIVE_INFINITY, 1];
  for (; nth <= calls; nth += 1) {
    const path = `${at[1]}-${nth}`;
    const own = ["--run", path, ...cloud.words];
    const passed = cloud.fail(/./, REFUSED, nth);
    const ran = await run(["node", "manage", "n-1", "web-1", ...own], cloud.how);
    if (passed() < nth) calls = passed();
    cloud.use(() => null);
    if (existsSync(path)) await runs(0, [...BACK, ...own], cloud.how);
    assert.equal(dumped(cloud), before, `call ${nth}: ${ran.err}`);
    assert.equal(await listed(), "n-1\n", `call ${nth}`);
  }
  assert.ok(calls > 15, `${calls} calls`);
});
