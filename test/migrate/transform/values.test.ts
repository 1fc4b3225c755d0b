import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Json } from "../../../src/lib/json.ts";
import { checkDocuments } from "../../../src/migrate/mapping/mapping.ts";
import {
  applyRule,
  compileRules,
  createOrigins,
  createShapes,
} from "../../../src/migrate/transform/compile.ts";
import { flavorArch } from "../../../src/migrate/transform/convert.ts";
import { inspectHardware } from "../../../src/migrate/transform/hardware.ts";
import { compileSite } from "../../../src/migrate/transform/site.ts";
import { hardwareOf } from "../../../src/model/ironic/hardware.ts";
import { createAjv } from "../../../src/model/json-schema/schemas.ts";
import type { Machine, Row } from "../../../src/model/machine.ts";
import type { TargetDoc } from "../../../src/model/mapping.ts";
import { documents, RELEASES } from "../mapping/broken.ts";

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

const { hardware: document, drivers } = checkDocuments(createAjv(), documents());
const site = drivers.drivers.find(({ power_manager }) => power_manager === null);
const NEEDED = ["N2I-D413", "N2I-D414"];

for (const release of RELEASES) {
  const hardware = hardwareOf(document, release, RELEASES);
  const codes = (row: Row): readonly string[] => {
    assert.ok(site !== undefined);
    const found = inspectHardware(row, { hardware, target: { release } }, site, "here");
    return [...new Set(found.map(({ code }) => code))];
  };
  const everything = Object.fromEntries(
    [...hardware.requirements.values()].flatMap(({ required, login }) =>
      [...required, ...login].map((key) => [key, "there"] as const),
    ),
  );

  test(`${release} takes each driver with each of its interfaces and all it needs, and nothing else`, () => {
    assert.ok(hardware.drivers.size > 0);
    for (const [driver, { interfaces }] of hardware.drivers) {
      assert.deepEqual(codes({ driver, driver_info: everything }), [], driver);
      for (const [kind, names] of interfaces ?? [])
        for (const name of names) {
          const row = { driver, driver_info: everything, [`${kind}_interface`]: name };
          assert.deepEqual(codes(row), [], `${driver} ${kind} ${name}`);
        }
      const other = { driver, driver_info: everything, power_interface: "of-nobody" };
      assert.ok(codes(other).includes("N2I-D412"), driver);
    }
    for (const driver of hardware.elsewhere.keys())
      assert.deepEqual(codes({ driver, driver_info: everything }), ["N2I-D410"], driver);
  });

  test(`${release} refuses an interface of power that speaks to a BMC of which nothing is told`, () => {
    for (const [driver, { interfaces }] of hardware.drivers)
      for (const power_interface of interfaces?.get("power") ?? []) {
        const speaks = hardware.requirements.has(power_interface);
        const found = codes({ driver, driver_info: {}, power_interface });
        if (speaks)
          assert.ok(
            found.some((code) => NEEDED.includes(code)),
            power_interface,
          );
      }
  });
}

/** Whether an entry for this service_host is for a machine of that one. */
function matches(pattern: string, service_host: string): boolean {
  const decisions = compileSite({
    file: null,
    machines: [{ match: { service_host: pattern }, skip: "it matches" }],
  } as never); // the rest of a site document says nothing here
  // Only the node's columns are asked about.
  return decisions.of({ node: { service_host } } as unknown as Machine).skip !== null;
}

test("a star stands for any text, and everything else for itself in either case", () => {
  for (const [pattern, value, expected] of [
    ["a*c", "abC", true],
    ["A*c", "ac", true],
    ["a*a", "a", false],
    ["*", "", true],
    ["", "", true],
    ["a.c", "abc", false],
    ["*b*", "abc", true],
    ["*b*b*", "abc", false],
    ["a*bc*c", "abc", false],
    ["a*\n", "a\n\n", true],
    ["a**c", "abc", true],
    // Told at once.
    [`${"*a".repeat(60)}*b`, "a".repeat(255), false],
  ] as const)
    assert.equal(matches(pattern, value), expected, `${pattern} ${JSON.stringify(value)}`);
});

const COLUMNS = ["uuid", "name", "driver"];

test("a row has its columns in the order they came in, whatever rows before it had", () => {
  const rowOf = createShapes(COLUMNS);
  const orders = [[0, 1, 2], [1, 0], [0, 1], [0, 2, 1], [], [0, 1, 2], [2, 0]];
  const rows = orders.map((order) => rowOf(["u", undefined, null], order));
  const values = { uuid: "u", name: null, driver: null };
  assert.deepEqual(
    rows.map((row) => JSON.stringify(row)),
    orders.map((order) => {
      const entries = order.map((at) => [COLUMNS[at], Object.values(values)[at]]);
      return JSON.stringify(Object.fromEntries(entries));
    }),
  );
});

test("a row that is changed changes no other", () => {
  const rowOf = createShapes(COLUMNS);
  const [one, other] = [rowOf(["a"], [0, 1]), rowOf(["b"], [0, 1])];
  one.name = "mine";
  assert.deepEqual(
    [one, other, rowOf(["c"], [0, 1])],
    [
      { uuid: "a", name: "mine" },
      { uuid: "b", name: null },
      { uuid: "c", name: null },
    ],
  );
});
