import assert from "node:assert/strict";
import { test } from "node:test";
import { needs } from "../index.ts";
import { startIronic } from "./start.ts";

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
