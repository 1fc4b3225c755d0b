import assert from "node:assert/strict";
import { test } from "node:test";
import { needs } from "../index.ts";
import { apiOf } from "./api.ts";
import { startIronic } from "./start.ts";
import { needsIronic } from "./with-ironic.ts";

test("the real Ironic answers, its conductor alive with three hardware types", async (t) => {
  const at = await needsIronic(t);
  const api = apiOf(at);
  const { body } = await api("GET", "/v1/conductors");
  assert.match(JSON.stringify(body), /"hostname": ?"lab".*"alive": ?true/);
  const drivers = JSON.stringify((await api("GET", "/v1/drivers")).body);
  for (const type of ["fake-hardware", "ipmi", "manual-management"])
    assert.match(drivers, new RegExp(`"${type}"`));
});

test("an Ironic that does not start is told with the end of its log, and leaves no database", async () => {
  const server = await needs("mysql");
  const dropped: string[] = [];
  const watched = {
    ...server,
    dropDatabase: (name: string) => {
      dropped.push(name);
      return server.dropDatabase(name);
    },
  };
  const more = { DEFAULT: { enabled_hardware_types: "of-nobody" } };
  const failed = startIronic(watched, { more });
  await assert.rejects(failed, /did not start\n(.*\n)*.*of-nobody/);
  assert.equal(dropped.length, 1);
  // One that cannot even make its tables.
  await assert.rejects(startIronic({ ...watched, password: "wrong" }), /Access denied for user/);
  assert.equal(dropped.length, 2);
});
