import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Json } from "../../../src/lib/json.ts";
import { applyRule, compileRules, createOrigins } from "../../../src/migrate/transform/compile.ts";
import { flavorArch } from "../../../src/migrate/transform/convert.ts";
import type { TargetDoc } from "../../../src/model/mapping.ts";
import { documents } from "../mapping/broken.ts";

/** What a converter makes of a value, and the findings it has. */
function converted(as: string, value: Json): { value: Json; codes: readonly string[] } | null {
  const rules = [{ to: "properties.x", from: "conf.x", as }];
  const columns = [{ name: "properties", type: "text" as const, null: true }];
  // The package's own document, which its own check has found sound.
  const target = documents().targets[0]?.document as TargetDoc;
  const [rule] = compileRules(rules, columns, target, "ipmi", createOrigins());
  assert.ok(rule);
  const applied = applyRule(rule, { conf: { x: value } });
  if (applied === null) return null;
  assert.ok("value" in applied, JSON.stringify(applied));
  return { value: applied.value, codes: (applied.warnings ?? []).map(([code]) => code) };
}

/** Ironic's own reading. @source ironic 21.4:ironic/drivers/utils.py get_node_capability */
function read(text: string): readonly string[] {
  return text.split(",").filter((pair) => {
    const parts = pair.split(":");
    return parts.length === 2 && parts.every((part) => part !== "");
  });
}

test("what is loaded of any capabilities is what Ironic reads of them, and the others have a finding each", () => {
  const word = fc.stringMatching(/^[a-z :ü]{0,4}$/);
  fc.assert(
    fc.property(
      fc.array(fc.array(word, { maxLength: 3 }), { minLength: 1, maxLength: 5 }),
      (given) => {
        const pairs = given.map((parts) => parts.join(":"));
        const made = converted("capabilities", pairs.join(","));
        const loaded = made === null || made.value === "" ? [] : String(made.value).split(",");
        assert.deepEqual(loaded, read(loaded.join(",")), "nothing that Ironic ignores");
        const isPlain = (pair: string): boolean => /^[a-z]+:[a-z]+$/.test(pair);
        assert.deepEqual(loaded.filter(isPlain), pairs.filter(isPlain), "all that is plain");
        if (made !== null)
          assert.equal(made.codes.length, pairs.length - loaded.length, "a finding for each other");
      },
    ),
    { seed: 8, numRuns: Number(process.env.N2I_RUNS ?? 300) },
  );
});

test("values that Ironic or Nova knows go as they are, others with a finding", () => {
  const table: readonly (readonly [string, string, string | null, readonly string[]])[] = [
    ["capabilities", "boot_mode:bios,rack:7", "boot_mode:bios,rack:7", []],
    ["capabilities", "boot_mode:UEFI,rack:R7", "boot_mode:uefi,rack:R7", ["N2I-D313"]],
    ["capabilities", "constructor:x", "constructor:x", []],
    ["capabilities", "boot_mode:both", "", ["N2I-D313"]],
    ["capabilities", "", null, []],
    ["arch", "x86_64", "x86_64", []],
    ["arch", "i386", "i386", []],
    ["arch", "AMD64", "AMD64", []],
    ["arch", "aarch64", "aarch64", []],
    ["arch", "<or> i686", "<or> i686", ["N2I-D307"]],
    ["arch", "x86-64", "x86-64", ["N2I-D307"]],
    ["arch", "{i386|x86_64}", "{i386|x86_64}", ["N2I-D307"]],
    ["trimmed", " 10.0.0.1\t\n", "10.0.0.1", ["N2I-D312"]],
    ["trimmed", "10.0.0.1", "10.0.0.1", []],
    ["trimmed", " ", null, []],
  ];
  for (const [as, given, value, codes] of table) {
    const made = converted(as, given);
    assert.deepEqual(made, value === null ? null : { value, codes }, `${as} of ${given}`);
  }
  const specs = ["s== x86_64", "x86_64", "<or> i686 <or> x86_64", "s!= ppc64", undefined];
  const none = undefined;
  assert.deepEqual(specs.map(flavorArch), ["x86_64", "x86_64", none, none, none]);
});
