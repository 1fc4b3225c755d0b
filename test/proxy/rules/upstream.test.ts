import assert from "node:assert/strict";
import { test } from "node:test";
import {
  listQuestion,
  pageOf,
  portsQuestion,
  type Range,
  rangeOf,
  showQuestion,
} from "../../../src/serving/rules/upstream.ts";
import { NODE } from "./asked.ts";

const UUID = { is: "uuid", text: NODE } as const;
const NAME = { is: "name", text: "rack1-7" } as const;

/** Minor and path of each question to an Ironic. */
function questions(range: Range): readonly string[] {
  return [
    listQuestion(range, null),
    listQuestion(range, NODE),
    showQuestion(range, UUID),
    showQuestion(range, NAME),
    portsQuestion(range, NODE, null),
  ].map((one) => (one === null ? "none" : `${one.minor} ${one.path}`));
}

test("each Ironic is asked for as little as it can be, at the lowest version that has it", () => {
  const node = "fields=uuid,provision_state,properties";
  assert.deepEqual(questions({ least: 1, most: 82 }), [
    `8 /v1/nodes?${node}`,
    `8 /v1/nodes?${node}&marker=${NODE}`,
    `8 /v1/nodes/${NODE}?${node},instance_uuid`,
    `10 /v1/nodes/rack1-7?${node},instance_uuid`,
    `8 /v1/ports?node=${NODE}&fields=address`,
  ]);
  // Kilo: the states as they are, and no choice of fields.
  assert.deepEqual(questions({ least: 1, most: 6 }), [
    "6 /v1/nodes/detail",
    `6 /v1/nodes/detail?marker=${NODE}`,
    `6 /v1/nodes/${NODE}`,
    "6 /v1/nodes/rack1-7",
    `6 /v1/ports?node_uuid=${NODE}`,
  ]);
  // Juno: neither versions nor names.
  assert.deepEqual(questions(null), [
    "null /v1/nodes/detail",
    `null /v1/nodes/detail?marker=${NODE}`,
    `null /v1/nodes/${NODE}`,
    "none",
    `null /v1/ports?node_uuid=${NODE}`,
  ]);
  assert.equal(listQuestion({ least: 60, most: 99 }, null).minor, 60);
});

test("what a service says of its versions is read, and anything else is no bare metal service", () => {
  assert.deepEqual(rangeOf("1.1", "1.82", null), { least: 1, most: 82 });
  assert.equal(rangeOf(undefined, undefined, { id: "v1", ports: [], nodes: [] }), null);
  for (const body of [null, "<html>", {}, { id: "v3" }, { id: "v1" }])
    assert.equal(rangeOf(undefined, "2.93", body), undefined);
});

test("a page tells its things, whether there are more, and behind which", () => {
  const next = `http://127.0.0.1:6385/v1/ports?limit=1000&fields=address&marker=${NODE}`;
  assert.deepEqual(pageOf({ ports: [1], next }, "ports"), { items: [1], more: true, marker: NODE });
  assert.deepEqual(pageOf({ nodes: [] }, "nodes"), { items: [], more: false, marker: null });
  const odd = pageOf({ nodes: [], next: "http://h/?marker=../../x&a=b" }, "nodes");
  assert.deepEqual(odd, { items: [], more: true, marker: null });
  for (const none of [null, [], {}, { nodes: {} }, { ports: [] }])
    assert.equal(pageOf(none, "nodes"), null);
});
