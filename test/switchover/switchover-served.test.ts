import assert from "node:assert/strict";
import { readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { isUuid } from "../../src/lib/uuid.ts";
import { run, runs } from "../hostile/cli.ts";
import { type InMemory, refuses, uuidOf } from "../manage/in-memory.ts";
import { BROKEN, writes } from "../manage/scene.ts";
import { instead, isWrite } from "../support/faulty-service.ts";
import { LOSSES, loses, restored, writesTo } from "./lost.ts";
import { addSpare, SECRET, SOURCE, SPARE, switchedDump } from "./switch-memory.ts";
import { errorOf, sentence, servedSwitchover } from "./switch-served.ts";

const LOSS = LOSSES.find(({ what }) => what === "given an instance") ?? assert.fail();

test("what loses its spare is rolled back, with a target or without, and the next request gets another", async (t) => {
  for (const body of [{ target_node: "s-1" }, {}]) {
    const { cloud, put, until } = await servedSwitchover(t);
    const next = addSpare(cloud, 1);
    const before = switchedDump(cloud);
    loses(cloud, LOSS);
    assert.equal((await put("n-1", body)).status, 202);
    const back = await until(SOURCE, "ROLLED_BACK", "DONE");
    assert.match(String(back.error), /N2I-E381 .*has instance/);
    assert.deepEqual([back.target, writesTo(cloud, next), cloud.told], [SPARE, [], []]);
    restored(cloud);
    assert.equal(switchedDump(cloud), before);
    cloud.setNode(SPARE, LOSS.change);
    assert.equal((await put("n-1", {})).status, 202);
    assert.equal((await until(SOURCE, "DONE")).target, next);
    assert.deepEqual(cloud.told, ["n-1 soft", "n-1 on"]);
  }
});

/** A service whose process ends right behind its answer. */
async function unbegun(t: TestContext, more: { leaveNova?: boolean } = {}) {
  const at = await servedSwitchover(t, more);
  at.cloud.fail(/^PATCH/, BROKEN);
  assert.equal((await at.put("n-1", {})).status, 202);
  await at.end();
  const [id = ""] = readdirSync(at.state).filter(isUuid);
  for (const file of ["journal.jsonl", "run.place"]) rmSync(join(at.state, id, file));
  at.cloud.use(() => null);
  // One that would be chosen before it.
  const sooner = addSpare(at.cloud, 1);
  const ready = { name: "a-1", provision_state: "manageable", power_state: "power off" };
  at.cloud.setNode(sooner, ready);
  return { ...at, sooner };
}

test("a service that is started again keeps the target that it accepted, and fails if that is no spare any more", async (t) => {
  for (const [change, state] of [
    [{}, "DONE"],
    [{ maintenance: true }, "FAILED"],
    [null, "FAILED"],
  ] as const) {
    const { cloud, again, until, sooner } = await unbegun(t);
    if (change === null) cloud.nodes.delete(SPARE);
    else cloud.setNode(SPARE, change);
    await again();
    const shown = await until(SOURCE, "DONE", "ROLLED_BACK", "FAILED");
    assert.deepEqual([shown.state, shown.target], [state, SPARE], JSON.stringify(change));
    assert.deepEqual(writesTo(cloud, sooner), []);
    assert.equal(cloud.told.length, state === "DONE" ? 2 : 0);
  }
});

test("it leaves Nova alone if it accepted the request so", async (t) => {
  const more = { leaveNova: true };
  const { again, until, said } = await unbegun(t, more);
  more.leaveNova = false;
  await again();
  await until(SOURCE, "DONE");
  assert.match(said.join("\n"), /Nova still has server/);
});

/** What was accepted by a service whose Ironic answers so where the spare is to be managed. */
async function brokenAt(t: TestContext, status: number) {
  const at = await servedSwitchover(t);
  const managed = `PUT /v1/nodes/${SPARE}/states/provision`;
  const broken = { done: false, says: refuses(status, "broken") };
  at.cloud.fail(managed, broken);
  assert.equal((await at.put("n-1", { target_node: "s-1" })).status, 202);
  return at;
}

test("what stopped a service is told no more once a command came to its end", async (t) => {
  const { cloud, until, end, again, state } = await brokenAt(t, 403);
  const stopped = await until(SOURCE, "FAILED", "ROLLED_BACK", "DONE");
  assert.match(String(stopped.error), /broken/);
  cloud.use(() => null);
  await end();
  const path = join(state, String(stopped.id));
  await runs(0, ["node", "switchover", SOURCE, "--run", path, ...cloud.words], cloud.how);
  await again();
  const { state: reached, error } = await until(SOURCE, "DONE", "FAILED");
  assert.deepEqual([reached, error], ["DONE", null]);
});

test("what is taken back while a service waits for Ironic stays so", async (t) => {
  const { cloud, get, until, again, state, before } = await brokenAt(t, 500);
  for (let text = ""; !text.includes("broken"); ) ({ text } = await get("n-1"));
  const [id = ""] = readdirSync(state).filter(isUuid);
  const words = ["rollback", "--run", join(state, id), ...cloud.words, "--all", "--yes"];
  // Between two tries the run is nobody's.
  for (let status = -1; status !== 0; ) ({ status = -1 } = await run(words, cloud.how));
  cloud.use(() => null);
  assert.match(String((await until(SOURCE, "ROLLED_BACK", "DONE")).error), /N2I-E389/);
  await again();
  await until(SOURCE, "ROLLED_BACK");
  assert.deepEqual([switchedDump(cloud), cloud.told], [before, []]);
});

/** Of Ironic its versions alone were asked for. */
function assertOnlyVersions({ calls }: Pick<InMemory, "calls">): void {
  assert.deepEqual(new Set([...calls, "GET /v1/"]), new Set(["GET /v1/"]));
}

test("B-1: a PUT is accepted with 202 and an empty body, and the instance goes on on the spare", async (t) => {
  const { cloud, put, until, state, said } = await servedSwitchover(t);
  const seen: (readonly [call: string, token: unknown])[] = [];
  cloud.use((call, fields) => {
    seen.push([call, fields["x-auth-token"]]);
    return null;
  });
  const accepted = await put("n-1", { target_node: "s-1" });
  assert.deepEqual([accepted.status, accepted.text], [202, ""]);
  assert.equal(accepted.fields.get("location"), `/v1/nodes/${SOURCE}/switchover`);
  assert.equal(accepted.fields.get("x-openstack-ironic-api-version"), "1.82");
  const shown = await until("n-1", "DONE");
  assert.deepEqual(Object.keys(shown), [
    ...["id", "source", "target", "created_at", "updated_at", "state", "step", "error"],
  ]);
  const { source, target, step, error } = shown;
  assert.deepEqual([source, target, step, error], [SOURCE, SPARE, null, null]);
  assert.equal(cloud.nodes.get(SPARE)?.instance_uuid, uuidOf(9, 1));
  assert.deepEqual(cloud.told, ["n-1 soft", "n-1 on"]);
  // Each node is read by the token of whoever asks; what is changed, by the service's own.
  const first = seen.findIndex(([call]) => isWrite(call));
  assert.ok(seen.slice(0, first).some(([, token]) => token === "admin"));
  const others = seen.slice(0, first).filter(([, token]) => token !== "admin");
  for (const [call] of others)
    assert.match(call, /^GET \/v1\/(volume\/targets\?|nodes\/[-0-9a]+$|$)/);
  const written = seen.filter(([call]) => isWrite(call));
  assert.ok(written.every(([, token]) => token === "of-the-service"));
  // Its folder is a run like any other, and holds neither token nor secret.
  const id = String(shown.id);
  for (const path of [state, join(state, id)]) assert.equal(statSync(path).mode & 0o777, 0o700);
  const names = readdirSync(join(state, id));
  assert.ok(names.includes("switchover.json"));
  const files = names.map((name) => readFileSync(join(state, id, name), "utf8"));
  const secrets = new RegExp(`"admin"|of-the-service|${SECRET}`);
  assert.doesNotMatch(JSON.stringify([names, files, said]), secrets);
  assert.match((await runs(0, ["status", "--run", join(state, id)])).out, /DONE/);
});

test("B-2: without a body, and with an empty one, an identical node of enroll is managed and taken", async (t) => {
  for (const body of [undefined, {}]) {
    const { cloud, put, until } = await servedSwitchover(t);
    assert.equal((await put(SOURCE, body)).status, 202);
    await until(SOURCE, "DONE");
    const spare = cloud.nodes.get(SPARE);
    assert.deepEqual([spare?.provision_state, spare?.instance_uuid], ["active", uuidOf(9, 1)]);
    assert.ok(cloud.calls.includes(`PUT /v1/nodes/${SPARE}/states/provision`));
  }
});

test("B-3, B-4, B-5, B-7, B-16: what is refused has its code in their order, and changes nothing", async (t) => {
  const { cloud, put, before } = await servedSwitchover(t);
  const [source, spare] = [cloud.nodes.get(SOURCE) ?? {}, cloud.nodes.get(SPARE) ?? {}];
  const kept = structuredClone([source, spare]);
  const noop = { storage_interface: "noop" };
  const properties = { cpus: 4, memory_mb: 16_384, capabilities: "iscsi_boot:True" };
  const bigger = { properties };
  const retry = "please retry after the current operation is completed\\.";
  const locked = { reservation: "h" };
  for (const [what, of, and, status, why] of [
    [{}, noop, {}, 400, /n-1: its storage_interface is noop, not external/],
    ["s-1", {}, bigger, 400, /properties\.memory_mb: 8192 != 16384/],
    [{}, {}, { resource_class: "x" }, 400, /no suitable destination/],
    ["s-1", locked, {}, 409, new RegExp(`Node ${SOURCE} is locked by host h, ${retry}`)],
    ["s-1", {}, locked, 409, new RegExp(`Node ${SPARE} is locked by host h`)],
    ["s-1", { target_power_state: "power off" }, {}, 409, /is changing to power off/],
    ["s-1", {}, { extra: { nova2ironic_switchover: "i" } }, 409, /in switchover i/],
    // Of several reasons the first of the table is told.
    ["s-1", noop, locked, 409, /locked by host h/],
    ["s-9", locked, {}, 400, /no node "s-9"/],
    ["s-1", { protected: true }, { resource_class: "x" }, 400, /n-1: it is protected/],
    ["s-1", {}, { maintenance: true }, 400, /s-1: it is in maintenance/],
    ["s-1", {}, { retired: true }, 400, /s-1: it is retired/],
    ["n-1", {}, {}, 400, /is the source itself/],
    ["s-1", { allocation_uuid: null }, {}, 400, /a Nova server/],
  ] as const) {
    Object.assign(source, of);
    Object.assign(spare, and);
    cloud.calls.length = 0;
    const body = typeof what === "string" ? { target_node: what } : what;
    const refused = await put("n-1", body);
    assert.equal(refused.status, status, refused.text);
    assert.match(sentence(refused), why);
    assert.equal(refused.fields.get("x-openstack-ironic-api-maximum-version"), "1.82");
    assert.deepEqual(writes(cloud), []);
    Object.assign(source, structuredClone(kept[0]));
    Object.assign(spare, structuredClone(kept[1]));
  }
  const unknown = await put("n-9", {});
  assert.deepEqual([unknown.status, sentence(unknown)], [404, "Node n-9 could not be found."]);
  assert.equal(switchedDump(cloud), before);
});

test("B-6: a microversion that is absent, too old, too new or none is 406 with both others", async (t) => {
  const { put, cloud } = await servedSwitchover(t);
  cloud.calls.length = 0;
  for (const version of [null, "1.1", "1.32", "1.83", "1.999", "2.1", "abc", "1", "1.33.1", ""]) {
    const answer = await put("n-1", {}, { version });
    const { status, fields } = answer;
    assert.equal(status, 406, String(version));
    assert.deepEqual(Object.keys(errorOf(answer)), ["code", "title", "description"]);
    assert.equal(fields.get("x-openstack-ironic-api-minimum-version"), "1.1");
    assert.equal(fields.get("x-openstack-ironic-api-maximum-version"), "1.82");
  }
  assertOnlyVersions(cloud);
  for (const version of ["1.33", "1.82", "latest"])
    assert.equal((await put("n-9", {}, { version })).status, 404, version);
});

test("B-16: who may not is refused before anything is asked, and what he does not see is not there", async (t) => {
  const { put, get, cloud, keystone } = await servedSwitchover(t);
  cloud.calls.length = 0;
  for (const method of ["PUT", "GET"])
    for (const token of [null, "forged", "member"]) {
      const { status } = await put("n-1", undefined, { token, method });
      assert.equal(status, token === "member" ? 403 : 401, String(token));
    }
  const denied = "Access was denied to the following resource: baremetal:node:switchover";
  assert.equal(sentence(await put("n-1", {}, { token: "member" })), denied);
  assertOnlyVersions(cloud);
  keystone.tokens.set("narrow", { roles: ["admin"] });
  cloud.use((call, fields) =>
    fields["x-auth-token"] === "narrow" && /^GET \/v1\/nodes\/(s-1|n-1)$/.test(call)
      ? instead(404, { error_message: "" })
      : null,
  );
  assert.equal((await put("n-1", {}, { token: "narrow" })).status, 404);
  assert.equal((await get("n-1", { token: "narrow" })).status, 404);
  const target = await put(SOURCE, { target_node: "s-1" }, { token: "narrow" });
  assert.deepEqual([target.status, sentence(target)], [400, 'Ironic has no node "s-1"']);
  cloud.use((call, fields) =>
    fields["x-auth-token"] === "narrow" && call.startsWith("GET /v1/nodes/") ? instead(401) : null,
  );
  assert.equal((await put("n-1", {}, { token: "narrow" })).status, 401);
  keystone.refuse = { status: 500, text: "<html>no</html>" };
  assert.equal((await put("n-1", {}, { token: "new" })).status, 503);
});

test("a body that is not what is asked for is refused by its kind", async (t) => {
  const { put, cloud } = await servedSwitchover(t);
  cloud.calls.length = 0;
  for (const [body, status, why] of [
    ["[]", 400, /JSON object/],
    ['["s-1"]', 400, /JSON object/],
    ['"s-1"', 400, /JSON object/],
    ["{", 400, /JSON object/],
    ["null", 400, /JSON object/],
    ['{"destination": "s-1"}', 400, /Unexpected attribute "destination"/],
    ['{"target_node": "s-1", "force": true}', 400, /Unexpected attribute "force"/],
    ['{"target_node": null}', 400, /uuid or the name/],
    ['{"target_node": ""}', 400, /uuid or the name/],
    ['{"target_node": ["s-1"]}', 400, /uuid or the name/],
    ['{"target_node": "../s-1"}', 400, /uuid or the name/],
    ['{"__proto__": "x"}', 400, /Unexpected attribute/],
  ] as const) {
    const refused = await put("n-1", body);
    assert.equal(refused.status, status, body);
    assert.match(sentence(refused), why, body);
  }
  for (const type of ["text/plain", "application/x-www-form-urlencoded", "application/jsonp"])
    assert.equal((await put("n-1", "{}", { type })).status, 415, type);
  const long = await put("n-1", JSON.stringify({ target_node: "x".repeat(64 * 1024) }));
  assert.deepEqual([long.status, sentence(long)], [413, "the request's body is too long"]);
  assertOnlyVersions(cloud);
});

test("whatever else is under /v1 is not here, and other methods are not allowed", async (t) => {
  const { put } = await servedSwitchover(t);
  const paths = ["", "/", "/nodes", "/nodes/n-1", "/nodes/n-1/states", "/nodes/n-1/switchover/x"];
  for (const path of ["/", ...paths.map((path) => `/v1${path}`)])
    for (const method of ["GET", "PUT"]) {
      const { status, text } = await put(path, undefined, { method });
      assert.equal(status, 404, path);
      assert.match(text, /error_message/);
    }
  for (const ident of ["detail", "a%2Fb", "%zz", "a b", ".."])
    assert.equal((await put(`/v1/nodes/${encodeURI(ident)}/switchover`, {})).status, 404, ident);
  for (const method of ["POST", "DELETE", "PATCH"]) {
    const answer = await put("n-1", undefined, { method });
    assert.deepEqual([answer.status, answer.fields.get("allow")], [405, "GET, PUT"]);
    const title = "Method Not Allowed";
    assert.deepEqual(errorOf(answer), { code: 405, title, description: "" });
  }
});

test("an Ironic that answers with a page, another version or half a line is 503, and nothing is begun", async (t) => {
  const { put, cloud, before } = await servedSwitchover(t);
  for (const [what, says] of [
    ["html", { says: { status: 200, text: "<html>welcome</html>" } }],
    ["another version", { says: { status: 200, text: "{}" }, between: true as const }],
    ["502", { says: { status: 502, text: "<html>bad gateway</html>" }, between: true as const }],
    ["half a line", { says: { status: 200, text: '{"uuid": "1' } }],
    ["nothing", { says: null }],
  ] as const)
    for (const at of ["nodes/n-1", "volume/targets", "nodes?"]) {
      cloud.fail((call) => call.startsWith(`GET /v1/${at}`), { done: false, ...says });
      const refused = await put("n-1", {});
      assert.equal(refused.status, 503, `${what} ${at} ${refused.text}`);
    }
  cloud.use(() => null);
  assert.equal(switchedDump(cloud), before);
});
