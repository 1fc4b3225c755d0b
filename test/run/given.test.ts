import assert from "node:assert/strict";
import { test } from "node:test";
import { type Given, onlyKept, withGiven } from "../../src/run/given.ts";

test("what a file says was given is no permission, no secret and no other word", () => {
  const options = {
    "leave-nova": true,
    "after-finish": true,
    "allow-running-compute": true,
    "ironic-db": "mysql://ironic:secret@db/ironic",
    "nova-db": "file:/root/nova.url",
    yes: true,
    staged: true,
  } as const;
  assert.deepEqual(onlyKept({ command: "apply", options }).options, {
    "nova-db": "file:/root/nova.url",
    staged: true,
  });
});

test("a plan makes what was said of apply void once it is made, not while it may be refused", () => {
  const apply: Given = { command: "apply", options: { "skip-blocked": true } };
  const plan: Given = { command: "plan", options: { site: "/root/site.yaml" } };
  assert.deepEqual(withGiven([apply], plan, true), [apply, plan]);
  assert.deepEqual(withGiven([apply], plan), [plan]);
});
