import assert from "node:assert/strict";
import { test } from "node:test";
import { customClass } from "../../../src/core/flavors/flavors.ts";

test("a resource class is named as Nova's placement normalises it", () => {
  for (const [name, custom] of [
    ["metal", "CUSTOM_METAL"],
    ["bm--large", "CUSTOM_BM_LARGE"],
    ["a__b.c", "CUSTOM_A_B_C"],
    ["größe", "CUSTOM_GR_E"],
  ] as const)
    assert.equal(customClass(name), custom);
});
