import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { openRun } from "../../src/edge/disk/run-folder.ts";
import { assertRefusal, run, runs } from "../hostile/cli.ts";
import { privateFolder } from "../hostile/deployment.ts";
import { dumped, type InMemory, macOf, uuidOf } from "./in-memory.ts";
import { BROKEN, DENIED, REFUSED, scene, serverOf, writes } from "./scene.ts";

test("a machine to be taken back is named by its node, else by its record, never by what means two", async (t) => {
  const { cloud, at } = await scene(t, 3);
  const words = [...at, ...cloud.words];
  await runs(0, ["node", "manage", "n-1", "n-2", ...words], cloud.how);
  await runs(0, ["node", "manage", "n-2", "web-2", ...words], cloud.how);
  const both = await run(["node", "unmanage", "n-2", ...words, "--yes"], cloud.how);
  assertRefusal(both, 64, "N2I-E306", /n-2 means more than one machine/);
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
  assert.match(out + err, /port 3\S+ was not given back: Neutron does not show it to this login/);
  cloud.network.set(uuidOf(3, 1), hidden);
  await runs(0, back, cloud.how);
  assert.equal(dumped(cloud), before);
});

test("a port that was deleted for good ends a way back by the operator's word, never by its own", async (t) => {
  const { cloud, at, before } = await scene(t, 2);
  const words = [...at, ...cloud.words];
  const [port, other] = [uuidOf(3, 1), uuidOf(3, 2)];
  for (const one of [1, 2])
    await runs(0, ["node", "manage", `n-${one}`, `web-${one}`, ...words], cloud.how);
  const back = ["rollback", ...words, "--all", "--yes", "--port-deleted", port];
  assertRefusal(await run(back, cloud.how), 64, "N2I-E100", /Neutron has port 3/);
  const foreign = ["node", "unmanage", "n-2", ...words, "--yes", "--port-deleted", port];
  assertRefusal(await run(foreign, cloud.how), 64, "N2I-E100", /no machine named here uses port 3/);
  assert.equal(cloud.allocations.size, 2);
  cloud.network.delete(port);
  const { out, err } = await runs(2, ["rollback", ...words, "--all", "--yes"], cloud.how);
  assert.match(out + err, /If it was deleted, pass --port-deleted 3\S+/);
  assert.match((await runs(0, ["status", ...at])).out, /1 begun and not at their end/);
  // An answer that tells no port is none that says there is none.
  cloud.use((call) =>
    /^GET .v2.0.ports.3/.test(call) ? { done: false, says: { status: 200, text: "{}" } } : null,
  );
  assert.match(
    (await run(back, cloud.how)).err,
    /N2I-E212 .* answered GET \/v2.0\/ports\/3\S+ without the port; is a proxy/,
  );
  cloud.use(() => null);
  cloud.calls.length = 0;
  const plan = await runs(0, [...back.slice(0, -1), port.toUpperCase(), "--plan"], cloud.how);
  assert.doesNotMatch(plan.out, /leave/);
  const ended = await runs(0, [...back.slice(0, -1), port.toUpperCase()], cloud.how);
  assert.match(ended.err, new RegExp(`${uuidOf(1, 1)}: port ${port} is skipped: you said`));
  assert.deepEqual(writes(cloud), []);
  assert.match((await runs(0, ["status", ...at])).out, /2 taken back/);
  assert.match(readFileSync(join(at[1] ?? "", "journal.jsonl"), "utf8"), /"step":"gone"/);
  // At once too, where it is known before; and once it is somebody's anew, that is his.
  await runs(0, ["node", "manage", "n-2", "web-2", ...words], cloud.how);
  const kept = cloud.network.get(other) ?? assert.fail();
  cloud.network.delete(other);
  const both = ["node", "unmanage", "n-2", ...words, "--yes", "--port-deleted", other];
  await runs(0, both, cloud.how);
  Object.assign(kept, { device_id: "", device_owner: "" });
  cloud.network.set(port, { ...kept, id: port, mac_address: macOf(1) }).set(other, kept);
  const whole = (text: string) => (JSON.parse(text) as readonly (readonly object[])[]).slice(0, 4);
  assert.deepEqual(whole(dumped(cloud)), whole(before));
});

test("the same words are as good once some machines of several were taken back by them", async (t) => {
  const { cloud, at } = await scene(t, 2);
  const words = [...at, ...cloud.words];
  const port = uuidOf(3, 1);
  for (const one of [1, 2])
    await runs(0, ["node", "manage", `n-${one}`, `web-${one}`, ...words], cloud.how);
  cloud.network.delete(port);
  const back = ["rollback", ...words, "--all", "--yes", "--port-deleted", port];
  const [, second] = [...cloud.allocations.keys()];
  cloud.use((call) => (call === `DELETE /v1/allocations/${second}` ? REFUSED : null));
  await runs(2, back, cloud.how);
  assert.match((await runs(0, ["status", ...at])).out, /1 taken back/);
  cloud.use(() => null);
  await runs(0, back, cloud.how);
  assert.match((await runs(0, ["status", ...at])).out, /2 taken back/);
});

test("a run that began with a port goes on once the port was given up", async (t) => {
  const { cloud, at } = await scene(t);
  const words = [...at, ...cloud.words];
  const manage = ["node", "manage", "n-1", "web-1", ...words];
  await runs(0, manage, cloud.how);
  cloud.network.clear();
  // The word is written down, and then nobody answers.
  cloud.use((call) => (call.startsWith("GET") ? null : BROKEN));
  const back = ["rollback", ...words, "--all", "--yes", "--port-deleted", uuidOf(3, 1)];
  const { status, err } = await run(back, cloud.how);
  assert.notEqual(status, 0);
  // The same words again are as good.
  const again = await run(back, cloud.how);
  assert.deepEqual([again.status, again.err.includes("N2I-E100")], [status, false], err);
  cloud.use(() => null);
  await runs(0, manage, cloud.how);
  await runs(0, ["verify", ...words], cloud.how);
  await runs(0, ["rollback", ...words, "--all", "--yes"], cloud.how);
  assert.deepEqual([cloud.allocations.size, serverOf(cloud)], [0, "null"]);
});

test("one address without a port is no proof that it was deleted", async (t) => {
  const { cloud, at } = await scene(t);
  const words = [...at, ...cloud.words];
  await runs(0, ["node", "manage", "n-1", "web-1", ...words], cloud.how);
  const back = ["rollback", ...words, "--all", "--yes", "--port-deleted", uuidOf(3, 1)];
  const unseen = { done: false, says: { status: 404, text: "<html>no such page</html>" } };
  for (const [hidden, code, why] of [
    [/^GET .v2.0.ports.3/, "N2I-E100", /Neutron has port 3/],
    [/^GET .v2.0.ports/, "N2I-E202", /is no network service: it lists no ports/],
  ] as const) {
    cloud.use((call) => (hidden.test(call) ? unseen : null));
    const { err } = await run(back, cloud.how);
    assert.match(err, new RegExp(code));
    assert.match(err, why);
  }
  assert.doesNotMatch(readFileSync(join(at[1] ?? "", "journal.jsonl"), "utf8"), /"step":"gone"/);
});

test("a run that managed no machine knows no port that was deleted", async (t) => {
  const path = join(privateFolder(t), "run");
  await openRun(path, { create: true });
  const back = ["rollback", "--run", path, "--all", "--yes", "--port-deleted", uuidOf(3, 1)];
  assertRefusal(await run(back), 64, "N2I-E100", /has no option --port-deleted/);
});

test("an operator's maintenance stays his on the way back, whenever it began", async (t) => {
  const theirs = { maintenance: true, maintenance_reason: "a disk is changed" };
  for (const when of [/^GET/, /^DELETE .*allocations/]) {
    const { cloud, at } = await scene(t);
    const words = [...at, ...cloud.words];
    const node = cloud.nodes.get(uuidOf(1, 1)) ?? assert.fail();
    await runs(0, ["node", "manage", "n-1", "web-1", ...words], cloud.how);
    let open = true;
    cloud.use((call) => {
      if (open && when.test(call)) Object.assign(node, theirs);
      open &&= !when.test(call);
      return null;
    });
    await runs(0, ["rollback", ...words, "--all", "--yes"], cloud.how);
    assert.equal(open, false);
    const { maintenance, maintenance_reason, instance_uuid } = node;
    assert.deepEqual({ maintenance, maintenance_reason }, theirs, String(when));
    assert.equal(instance_uuid, null);
  }
});

test("a machine whose record is not deleted is in service again, with its port", async (t) => {
  const { cloud, at, before } = await scene(t);
  const words = [...at, ...cloud.words];
  await runs(0, ["node", "manage", "n-1", "web-1", ...words], cloud.how);
  const back = ["rollback", ...words, "--all", "--yes"];
  for (const [fault, why] of [
    [BROKEN, /N2I-E210/],
    [REFUSED, /not today/],
  ] as const) {
    cloud.use((call) => (/^DELETE .*allocations/.test(call) ? fault : null));
    const { out, err } = await run(back, cloud.how);
    assert.match(out + err, why);
    const { maintenance } = cloud.nodes.get(uuidOf(1, 1)) ?? {};
    assert.deepEqual([maintenance, cloud.allocations.size], [false, 1]);
    assert.equal(cloud.network.get(uuidOf(3, 1))?.device_id, serverOf(cloud));
  }
  cloud.use(() => null);
  await runs(0, back, cloud.how);
  assert.equal(dumped(cloud), before);
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
      assert.match(told.out + told.err, /this run holds it in maintenance: run rollback again/);
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
  assert.match((await runs(0, ["status", ...at])).out, /1 taken back/);
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
    return null;
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

test("a login that lacks a right leaves nothing behind, and ends the command where it is not of a port", async (t) => {
  const { cloud, at, before } = await scene(t, 2);
  for (let nth = 1; nth <= 4; nth += 1) {
    let passed = 0;
    cloud.use((call) => {
      if (call.startsWith("GET")) return null;
      passed += 1;
      return passed === nth ? DENIED : null;
    });
    const denied = await run(
      ["node", "manage", "n-1", "web-1", "--run", `${at[1]}-${nth}`, ...cloud.words],
      cloud.how,
    );
    cloud.use(() => null);
    // The second is its port's, which may be another project's: that is a reason of this machine.
    const why = nth === 2 ? /N2I-E370 .*PUT of port 3\S+1 is refused: 403 not today/ : /N2I-E211/;
    assert.match(denied.err, why);
    assert.equal(dumped(cloud), before, `call ${nth}: ${denied.err}`);
  }
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
  assertRefusal({ ...ran, out: "" }, 4, "N2I-E370", /not today.*; not taken back: PUT of port/);
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
    let passed = 0;
    cloud.use(() => {
      passed += 1;
      return passed === nth ? REFUSED : null;
    });
    const ran = await run(["node", "manage", "n-1", "web-1", ...own, ...cloud.words], cloud.how);
    if (passed < nth) calls = passed;
    cloud.use(() => null);
    if (existsSync(own[1] ?? ""))
      await runs(0, ["rollback", ...own, ...cloud.words, "--all", "--yes"], cloud.how);
    assert.equal(dumped(cloud), before, `call ${nth}: ${ran.err}`);
    assert.equal(await listed(), "n-1\n", `call ${nth}`);
  }
  assert.ok(calls > 15, `${calls} calls`);
});
