import assert from "node:assert/strict";
import { test } from "node:test";
import { gatherNics, type Nic } from "../../src/model/ironic/adoptable.ts";

const uuidOf = (letter: string, n: number): string =>
  `${letter.repeat(8)}-0000-4000-8000-${String(n).padStart(12, "0")}`;

for (const cards of [50, 1200])
  test(`${cards} cards are given by their node, with the ports that they name`, () => {
    const known = gatherNics();
    const wanted = new Map<string, Nic[]>();
    for (let n = 0; n < cards; n += 1) {
      const vif = n % 3 === 0 ? null : uuidOf("c", n % 10 === 1 ? 1 : n);
      const bond = n % 7 === 0;
      const nic: Nic = {
        ...{ is: bond ? "portgroup" : "port", uuid: uuidOf("b", n), vif },
        address: n % 11 === 0 ? null : `52:54:00:00:${(n >> 8).toString(16).padStart(2, "0")}:0a`,
      };
      const node = uuidOf("a", n >> 1);
      known.put(node, nic);
      wanted.set(node, [...(wanted.get(node) ?? []), nic]);
    }
    for (const [node, nics] of wanted) assert.deepEqual(known.of(node), nics);
    assert.deepEqual(known.of(uuidOf("a", 0).toUpperCase()), wanted.get(uuidOf("a", 0)));
    assert.deepEqual(known.of(uuidOf("d", 0)), []);
    const vifs = new Set([...wanted.values()].flat().flatMap(({ vif }) => vif ?? []));
    assert.deepEqual([known.vifs.size, new Set(known.vifs.values())], [vifs.size, vifs]);
    for (const vif of vifs) assert.ok(known.vifs.has(vif));
    assert.ok(!known.vifs.has(uuidOf("d", 0)));
    assert.deepEqual([...known.twice], [uuidOf("c", 1)]);
  });
