import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { objectOf } from "../../../src/lib/json.ts";
import { openServers } from "../../../src/systems/nova-api/servers.ts";
import { cloudOf } from "../../../src/systems/openstack/cloud.ts";
import { pauseShorter } from "../../../src/systems/openstack/passing.ts";
import { says } from "../../manage/in-memory.ts";
import { faultyService, instead } from "../../support/faulty-service.ts";

interface Server {
  readonly id: string;
  status: string;
  task: string | null;
  /** By whose word it was made, where that is not its own. */
  readonly mark?: string;
  readonly node?: string;
}

const UPDATED = "2026-01-01T00:00:09Z";
const FLAVOR = {
  ...{ name: "web-1", description: null, zone: null, flavor: "gold", image: null },
  ...{ ports: [], metadata: {}, node: "n-1" },
};
const may = (): Promise<null> => Promise.resolve(null);

/** A Nova of these servers, and the calls that it heard; a server that is asked for is built until somebody says so. */
async function novaOf(t: TestContext, servers: Server[]) {
  pauseShorter(0);
  t.after(() => pauseShorter(1));
  const shown = ({ id, status, task, node, mark = `mark-${id}` }: Server) => ({
    ...{ id, status, metadata: { nova2ironic_manage: mark } },
    ...{ updated: UPDATED, "OS-EXT-STS:task_state": task },
    "OS-EXT-SRV-ATTR:hypervisor_hostname": node ?? null,
  });
  const { url, calls, use } = await faultyService(t, {
    most: 1,
    answer: (call, sent) => {
      const at = new URL(call.split(" ")[1] ?? "", "http://nova");
      const status = at.searchParams.get("status");
      if (call === "POST /servers") {
        const id = `s-${servers.push(building(`s-${servers.length + 1}`))}`;
        return says(200, { server: { id } });
      }
      const one = servers.find(({ id }) => at.pathname.split("/")[2] === id);
      if (one !== undefined && call.startsWith("POST")) {
        one.task = "os-start" in objectOf(sent) ? "powering-on" : "powering-off";
        return says(200, {});
      }
      if (one !== undefined) return says(200, { server: shown(one) });
      if (at.pathname.split("/")[2] !== undefined && !at.pathname.endsWith("/detail"))
        return { status: 404, text: "{}" };
      const all = servers.filter((one) => status === null || one.status === status);
      return says(200, { servers: all.map(shown) });
    },
  });
  const nova = await opened(url);
  t.after(nova.close);
  calls.length = 0;
  /** Waits for so many calls that have this in them. */
  const heard = async (part: string, times = 1): Promise<void> => {
    while (calls.filter((call) => call.includes(part)).length < times) await sleep(1);
  };
  return { nova, calls, use, heard };
}

function opened(url: string) {
  const settings = Object.entries({ auth_type: "none", compute_endpoint_override: url });
  return openServers(cloudOf(new Map(settings), "the test"), 5000, () => Promise.resolve());
}

function building(id: string): Server {
  return { id, status: "BUILD", task: "spawning" };
}

function become(servers: readonly Server[], status: string): void {
  for (const one of servers) Object.assign(one, { status, task: null });
}

const statuses = (all: readonly ({ readonly status: string } | null)[]) =>
  all.map((one) => one?.status ?? null);

const made = (servers: readonly Server[]) => servers.map(({ id }) => ({ id }));

const alone = (calls: readonly string[]) => calls.filter((call) => /^GET \/servers\/s-/.test(call));

test("a server is waited for until it is built, whatever Nova made of its power since", async (t) => {
  const servers = [building("s-1"), building("s-2"), building("s-3")];
  const { nova, heard } = await novaOf(t, servers);
  const waiting = Promise.all(made(servers).map(nova.built));
  await heard("/servers/s-1", 2);
  become(servers.slice(0, 1), "ACTIVE");
  // Nova's power sync came before the next look.
  become(servers.slice(1, 2), "SHUTOFF");
  become(servers.slice(2), "ERROR");
  assert.deepEqual(statuses(await waiting), ["ACTIVE", "SHUTOFF", "ERROR"]);
});

test("a server that somebody deletes while it is waited for is gone", async (t) => {
  const servers = [building("s-1"), building("s-2")];
  const { nova, heard } = await novaOf(t, servers);
  const waiting = Promise.all(made(servers).map(nova.built));
  await heard("/servers/s-1");
  become(servers.splice(0), "ACTIVE");
  assert.deepEqual(statuses(await waiting), [null, null]);
});

test("a server that its user paused is told as it is, and not waited for", async (t) => {
  const servers = [building("s-1")];
  const { nova, calls, heard } = await novaOf(t, servers);
  const built = nova.built({ id: "s-1" });
  await heard("/servers/s-1");
  become(servers, "PAUSED");
  assert.equal((await built)?.status, "PAUSED");
  become(servers, "ACTIVE");
  const turned = nova.turn("s-1", "SHUTOFF", may);
  await heard("/action");
  become(servers, "PAUSED");
  assert.equal(await turned, "server s-1 does not become SHUTOFF: it is PAUSED");
  assert.ok(calls.length < 200, String(calls.length));
});

test("a server is asked for without a look if this run did not ask for it before", async (t) => {
  const servers: Server[] = [];
  const { nova, calls } = await novaOf(t, servers);
  const told = await nova.create(FLAVOR, { mark: "m", isNew: true, may });
  assert.ok(typeof told === "object" && "id" in told);
  assert.deepEqual(calls, ["POST /servers"]);
});

test("a server whose answer was lost, or that was asked for before, is looked for and not made twice", async (t) => {
  for (const isNew of [true, false]) {
    const servers = isNew ? [] : [building("s-1")];
    const { nova, calls, use } = await novaOf(t, servers);
    use((call) => (call === "POST /servers" ? { done: true, says: null } : null));
    const told = await nova.create(FLAVOR, { mark: "mark-s-1", isNew, may });
    assert.deepEqual(told, { id: "s-1", again: false });
    assert.equal(calls.filter((call) => call.startsWith("POST")).length, isNew ? 1 : 0);
  }
});

test("a server is stopped without a look before, and what Nova refuses is looked at", async (t) => {
  const servers = [building("s-1")];
  become(servers, "ACTIVE");
  const { nova, calls, use, heard } = await novaOf(t, servers);
  const stopping = nova.turn("s-1", "SHUTOFF", may);
  await heard("GET /servers/s-1");
  become(servers, "SHUTOFF");
  assert.equal(await stopping, null);
  calls.length = 0;
  use((call) => (call.startsWith("POST") ? instead(409) : null));
  assert.equal(await nova.turn("s-1", "SHUTOFF", may), null, "somebody stopped it already");
  assert.deepEqual([...new Set(alone(calls))], ["GET /servers/s-1"]);
  const why = "it is not harmless";
  assert.equal(await nova.turn("s-1", "ACTIVE", () => Promise.resolve(why)), why);
});

test("an answer that says nothing of servers is not taken for there being none", async (t) => {
  const { nova, use } = await novaOf(t, []);
  for (const text of ["{}", '{"servers":[null]}', '{"servers":{}}', '{"server":7}', "[]"]) {
    use(() => instead(200, text));
    await assert.rejects(nova.find("mark", "n-1"), { code: "N2I-E212" }, text);
    const message = /answered GET \/servers\/s-1 without the server; is a proxy in between\?/;
    await assert.rejects(nova.read("s-1"), { code: "N2I-E212", message }, text);
    // Whether it is gone is not known either.
    await assert.rejects(nova.built({ id: "s-1" }), { code: "N2I-E212" }, text);
  }
});

test("a server is found by its mark in the list of all servers", async (t) => {
  const { nova, calls } = await novaOf(t, [building("s-1"), building("s-2")]);
  const marks = ["mark-s-2", "mark-s-1", "nobody"];
  const found = await Promise.all(marks.map(async (mark) => (await nova.find(mark, "n-1"))?.id));
  assert.deepEqual(found, ["s-2", "s-1", undefined]);
  assert.deepEqual([...new Set(calls)], ["GET /servers/detail"]);
});

test("of servers that carry one word the node's own is found, then one without a node, and never another's", async (t) => {
  const one = (id: string, status: string, node?: string): Server => ({
    ...{ id, status, task: null, mark: "m" },
    ...(node !== undefined && { node }),
  });
  const other = one("s-1", "ACTIVE", "n-2");
  const unplaced = one("s-2", "ERROR");
  const hidden = one("s-3", "ACTIVE");
  const own = one("s-4", "ACTIVE", "n-1");
  for (const [servers, instance, id] of [
    [[other, hidden, unplaced, own], null, "s-4"],
    [[other, hidden, unplaced], null, "s-2"],
    [[other, hidden, unplaced], "s-3", "s-3"],
    [[other, hidden], null, "s-3"],
    [[other], null, undefined],
  ] as const) {
    const { nova } = await novaOf(t, [...servers]);
    assert.equal((await nova.find("m", "n-1", instance))?.id, id);
  }
  // Whose it is nobody tells: it is neither taken, nor a second one asked for.
  const { nova, calls } = await novaOf(t, [other, hidden]);
  const why = await nova.create(FLAVOR, { mark: "m", isNew: false, may });
  assert.match(String(why), /server s-3 has the metadata .* its node is not visible/);
  assert.deepEqual(calls, ["GET /servers/detail"]);
});

test("a server is untouched where its making is all that Nova has written down of it", async (t) => {
  const { nova, use } = await novaOf(t, []);
  for (const [status, said, is] of [
    [200, ["create"], true],
    [200, ["stop", "create"], false],
    [200, ["delete"], false],
    [200, [], false],
    [403, [], false],
    [404, [], false],
  ] as const) {
    use(() => instead(status, { instanceActions: said.map((action) => ({ action })) }));
    assert.equal(await nova.isUntouched("s-1"), is, `${status} ${said.join()}`);
  }
  use(() => instead(200));
  assert.equal(await nova.isUntouched("s-1"), false);
});

test("an address that is not Nova's is refused before anything is asked of it", async (t) => {
  const fields = { Location: "https://nova/v2.1/servers" };
  for (const [status, why] of [
    [404, /refuses GET \/servers: 404 Not Found$/],
    [302, /refuses GET \/servers: 302 redirects to https:\/\/nova\/v2\.1\/servers$/],
  ] as const) {
    const answer = () => ({ status, text: "Not Found", ...(status === 302 && { fields }) });
    const { url, calls } = await faultyService(t, { most: 1, answer });
    await assert.rejects(opened(url), why);
    assert.equal(calls.length, 1);
  }
});
