import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
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
}

const TIME = "2026-01-01T00:00:0";

/** A Nova of these servers, and the calls that it heard. */
async function novaOf(t: TestContext, servers: readonly Server[]) {
  pauseShorter(0);
  t.after(() => pauseShorter(1));
  const shown = ({ id, status, task, updated }: Server) => ({
    ...{ id, status, metadata: { nova2ironic_manage: `mark-${id}` } },
    ...{ updated: updated ?? `${TIME}0Z`, "OS-EXT-STS:task_state": task },
  });
  const { url, calls, use } = await faultyService(t, {
    most: 1,
    answer: (call) => {
      const at = new URL(call.split(" ")[1] ?? "", "http://nova");
      const since = at.searchParams.get("changes-since");
      const is = ({ updated }: Server) => since === null || (updated !== null && updated >= since);
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
  /** Waits for a call that has this in it. */
  const heard = async (part: string): Promise<void> => {
    while (!calls.some((call) => call.includes(part))) await sleep(1);
  };
  return { nova, calls, use, heard };
}

function says(body: object) {
  return { status: 200, text: JSON.stringify(body) };
}

function building(id: string, updated: string | null = `${TIME}1Z`): Server {
  return { id, status: "BUILD", task: "spawning", updated };
}

function become(servers: readonly Server[], status: string): void {
  for (const one of servers) Object.assign(one, { status, task: null, updated: `${TIME}9Z` });
}

const statuses = (all: readonly ({ readonly status: string } | null)[]) =>
  all.map((one) => one?.status ?? null);

test("several that are waited for are found in one list of what changed, and those not in it by themselves", async (t) => {
  // No cell has the last one yet.
  const servers = [building("s-1"), building("s-2"), building("s-3", null)];
  const { nova, calls, heard } = await novaOf(t, servers);
  const waiting = Promise.all(servers.map(({ id }) => nova.still(id)));
  await heard(`changes-since=${encodeURIComponent(`${TIME}0Z`)}`);
  const before = calls.length;
  await heard("/servers/s-3");
  become(servers.slice(0, 2), "ACTIVE");
  Object.assign(servers[2] ?? {}, { status: "ERROR" });
  assert.deepEqual(statuses(await waiting), ["ACTIVE", "ACTIVE", "ERROR"]);
  // Of each that a list has Nova is not asked besides.
  const lists = calls.slice(before - 1).filter((call) => call.includes("/detail"));
  assert.ok(lists.every((call) => call.includes("changes-since=")));
});

test("a server that somebody deletes while several are waited for is gone", async (t) => {
  const servers = [building("s-1"), building("s-2")];
  const { nova, heard } = await novaOf(t, servers);
  const waiting = Promise.all(servers.map(({ id }) => nova.still(id)));
  await heard("changes-since=");
  become(servers.slice(0, 1), "DELETED");
  become(servers.slice(1), "ACTIVE");
  assert.deepEqual(statuses(await waiting), [null, "ACTIVE"]);
});

test("one that is waited for alone is asked for by itself", async (t) => {
  const servers = [building("s-1"), building("s-2")];
  const { nova, calls } = await novaOf(t, servers);
  const waiting = nova.still("s-1");
  while (calls.length < 3) await sleep(1);
  become(servers, "ACTIVE");
  assert.equal((await waiting)?.status, "ACTIVE");
  assert.deepEqual([...new Set(calls)], ["GET /servers/s-1"]);
});

test("where the list fails, each that is waited for is asked for by itself", async (t) => {
  const servers = [building("s-1"), building("s-2")];
  const { nova, use, heard } = await novaOf(t, servers);
  use((call) =>
    call.includes("changes-since") ? { done: false, says: { status: 500, text: "{}" } } : null,
  );
  const waiting = Promise.all(servers.map(({ id }) => nova.still(id)));
  await heard("changes-since=");
  become(servers.slice(0, 1), "ACTIVE");
  servers.splice(1);
  assert.deepEqual(statuses(await waiting), ["ACTIVE", null]);
});

test("the servers of several words are found in one walk", async (t) => {
  const servers = [building("s-1"), building("s-2")];
  const { nova, calls } = await novaOf(t, servers);
  const found = await Promise.all(
    ["mark-s-2", "mark-s-1", "nobody"].map((mark) => nova.find(mark)),
  );
  assert.deepEqual(
    found.map((one) => one?.id),
    ["s-2", "s-1", undefined],
  );
  assert.deepEqual(calls, ["GET /servers/detail"]);
});
