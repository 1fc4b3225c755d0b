import assert from "node:assert/strict";
import { test } from "node:test";
import { gather } from "../../../src/migrate/flavors/rules/facts.ts";
import { customClass, planFlavors } from "../../../src/migrate/flavors/rules/flavors.ts";

test("a resource class is named as Nova's placement normalises it", () => {
  for (const [name, custom] of [
    ["metal", "CUSTOM_METAL"],
    ["bm--large", "CUSTOM_BM_LARGE"],
    ["a__b.c", "CUSTOM_A_B_C"],
    ["größe", "CUSTOM_GR_E"],
  ] as const)
    assert.equal(customClass(name), custom);
});

test("a server that was never scheduled keeps no flavor from its resource class, one on another host does", () => {
  const flavor = { id: 1, name: "metal", flavorid: "11", deleted: 0 };
  const facts = gather();
  facts.hosts.add("compute-1");
  facts.flavors.set(1, new Set(["baremetal"]));
  const asked = {
    images: { do: "keep" },
    selected: new Set<string>(),
    classes: true,
    copies: false,
  } as const;
  const planned = (...hosts: readonly string[]) =>
    planFlavors(
      { schema: "nova", flavors: [flavor], specs: [], hosts: new Map([[1, hosts]]) },
      facts,
      asked,
      "2014-12-01 00:00:00",
    );
  const { steps, findings } = planned("compute-1", "");
  assert.deepEqual([steps.length, findings], [4, []]);
  const shared = planned("compute-1", "", "kvm-1");
  assert.deepEqual(shared.steps, []);
  assert.deepEqual(
    shared.findings.map(({ code, message }) => [code, message]),
    [["N2I-D233", "instances with this flavor are on kvm-1"]],
  );
});
