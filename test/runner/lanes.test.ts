import assert from "node:assert/strict";
import { test } from "node:test";
import { dealt, filesOf, LANES, type Lane, laneOf } from "./lanes.ts";

const FILES = [
  "a/one.test.js",
  "a/one.db.test.js",
  "a/two.death.test.js",
  "b/three.ironic.test.js",
  "b/three.long.ironic.test.js",
  "b/four.cloud.test.js",
];

function lane(name: Lane["name"]): Lane {
  return LANES.find((each) => each.name === name) ?? assert.fail(name);
}

test("the ending of a file's name says its lane, and no ending is the default lane", () => {
  const names = FILES.map((file) => laneOf(file).name);
  assert.deepEqual(names, ["default", "databases", "deaths", "services", "services", "clouds"]);
  // Other words in a name are no ending.
  for (const file of ["a/db.test.js", "a/x.other.test.js", "a.db/x.test.js", "a/x.db.more.test.js"])
    assert.equal(laneOf(file).name, "default", file);
});

test("each file is in exactly one lane", () => {
  const all = LANES.flatMap((each) => filesOf(each, FILES, true));
  assert.deepEqual(all.toSorted(), FILES.toSorted());
});

test("a long file runs only if all files are wanted", () => {
  const services = lane("services");
  assert.deepEqual(filesOf(services, FILES, false), ["b/three.ironic.test.js"]);
  assert.deepEqual(filesOf(services, FILES, true), [
    "b/three.ironic.test.js",
    "b/three.long.ironic.test.js",
  ]);
});

test("files are dealt to processes once each, and neighbours to different ones", () => {
  const files = Array.from({ length: 10 }, (_, at) => `${at}.test.js`);
  const hands = dealt(files, 4);
  const sizes = hands.map((hand) => hand.length);
  assert.deepEqual(sizes, [3, 3, 2, 2]);
  assert.deepEqual(hands.flat().toSorted(), files);
  assert.deepEqual(hands[0], ["0.test.js", "4.test.js", "8.test.js"]);
  assert.deepEqual(dealt(files.slice(0, 2), 4), [["0.test.js"], ["1.test.js"]]);
  assert.deepEqual(dealt([], 4), []);
});
