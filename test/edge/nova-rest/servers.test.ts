import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { openServers } from "../../../src/edge/nova-rest/servers.ts";
import { pauseShorter } from "../../../src/edge/openstack/passing.ts";
import { cloudOf } from "../../../src/edge/openstack/settings.ts";
import { faultyService } from "../../support/faulty-service.ts";

interface Server {
  readonly id: string;
  status: string;
  task: string | null;
  /** Null: never scheduled, so that no list of what changed has it. */
  updated: string | null;
  /** Looks after which it is there. */
  looks: number;
}

const TIME = "2026-01-01T00:00:0";

/** A Nova of these servers, each done after so many looks at it. */
async function novaOf(t: TestContext, servers: readonly Server[]) {
  pauseShorter(0);
  t.after(() => pauseShorter(1));
  const shown = (one: Server) => {
    one.looks -= 1;
    if (one.looks === 0) Object.assign(one, { status: "ACTIVE", task: null, updated: `${TIME}9Z` });
    const { id, status, task, updated } = one;
    const metadata = { nova2ironic_manage: `mark-${id}` };
    return { id, status, metadata, updated: updated ?? `${TIME}0Z`, "OS-EXT-STS:task_state": task };
  };
  const { url, calls } = await faultyService(t, {
    most: 1,
    answer: (call) => {
      const at = new URL(call.split(" ")[1] ?? "", "http://nova");
      const since = at.searchParams.get("changes-since");
      const is = (one: Server) => since === null || (one.updated !== null && one.updated >= since);
      if (at.pathname.endsWith("/detail")) return says({ servers: servers.filter(is).map(shown) });
      const one = servers.find(({ id }) => at.pathname.endsWith(id));
      return one === undefined ? says({ servers: [] }) : says({ server: shown(one) });
    },
  });
  const settings = new Map([
    ["auth_type", "none"],
    ["compute_endpoint_override", url],
  ]);
  const nova = await openServers(cloudOf(settings, "the test"), 5000, () => Promise.resolve());
  t.after(nova.close);
  calls.length = 0;
  return { nova, calls };
}

function says(body: object) {
  return { status: 200, text: JSON.stringify(body) };
}

function building(id: string, looks: number, updated: string | null = `${TIME}1Z`): Server {
  return { id, status: "BUILD", task: "spawning", updated, looks };
}

test("several that are waited for are found in one list of what changed, and those not in it by themselves", async (t) => {
  const servers = [
    building("s-1", 4),
    building("s-2", 4),
    // One that no cell has yet.
    building("s-3", 4, null),
  ];
  const { nova, calls } = await novaOf(t, servers);
  const done = await Promise.all(servers.map(({ id }) => nova.still(id)));
  assert.deepEqual(
    done.map((one) => [one?.id, one?.status]),
    servers.map(({ id }) => [id, "ACTIVE"]),
  );
  const single = (id: string) => calls.filter((call) => call.endsWith(`/servers/${id}`)).length;
  // The first look at each is at it alone, and another may be, when nobody else waits yet.
  assert.ok(Math.max(single("s-1"), single("s-2")) <= 2, calls.join("\n"));
  assert.ok(single("s-3") > 1);
  const lists = calls.filter((call) => call.includes("/detail"));
  assert.ok(lists.length >= 2, calls.join("\n"));
  const since = encodeURIComponent(`${TIME}0Z`);
  assert.ok(
    lists.every((call) => /changes-since=/.test(call)),
    calls.join("\n"),
  );
  assert.ok(
    lists.some((call) => call.endsWith(`changes-since=${since}`)),
    calls.join("\n"),
  );
});

test("one that is waited for alone is asked for by itself, and one that was deleted is gone", async (t) => {
  const alone = building("s-1", 3);
  const { nova, calls } = await novaOf(t, [alone]);
  assert.equal((await nova.still("s-1"))?.status, "ACTIVE");
  assert.deepEqual(
    calls.map((call) => call.split("/").at(-1)),
    ["s-1", "s-1", "s-1"],
  );
  const gone = Object.assign(building("s-1", 9), { status: "DELETED" });
  assert.equal(await (await novaOf(t, [gone])).nova.still("s-1"), null);
  const [one, other] = [building("s-1", 9), building("s-2", 9)];
  const both = await novaOf(t, [one, other]);
  const waiting = Promise.all([both.nova.still("s-1"), both.nova.still("s-2")]);
  Object.assign(one, { status: "DELETED" });
  assert.deepEqual(
    (await waiting).map((found) => found?.status),
    [undefined, "ACTIVE"],
  );
});

test("the servers of several words are found in one walk", async (t) => {
  const servers = [building("s-1", 9), building("s-2", 9)];
  const { nova, calls } = await novaOf(t, servers);
  const found = await Promise.all(
    ["mark-s-2", "mark-s-1", "nobody"].map((mark) => nova.find(mark)),
  );
  assert.deepEqual(
    found.map((one) => one?.id),
    ["s-2", "s-1", undefined],
  );
  assert.equal(calls.length, 1);
});
