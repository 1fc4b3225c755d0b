import assert from "node:assert/strict";
import { test } from "node:test";
import { createProposal } from "../../../src/migrate/plan/rules/propose.ts";
import { type FindingCode, finding } from "../../../src/model/findings.ts";
import type { Machine } from "../../../src/model/machine.ts";
import type { PlannedMachine } from "../../../src/model/plan.ts";
import type { PowerReading } from "../../../src/model/power.ts";
import type { FlavorSize, MachineFlavor } from "../../../src/model/settings.ts";

const SUITE = { key: "ipmi_cipher_suite", value: "17", words: "" } as const;
const LEVEL = { key: "ipmi_priv_level", value: "OPERATOR", words: "" } as const;
const WANTS_SUITE = ["N2I-D602", "set driver_info.ipmi_cipher_suite to 17"] as const;
const WANTS_LEVEL = ["N2I-D602", "set driver_info.ipmi_priv_level to OPERATOR"] as const;
const CANNOT = ["N2I-D602", "cannot set driver_info.ipmi_cipher_suite to 17: not read"] as const;
const SLOW = ["N2I-D628", "BMC 10.0.0.1"] as const;
const BOTH = ["ipmi_cipher_suite", "ipmi_priv_level"];
const READ = { verdict: "ok", suite: 3, advice: [] } as const;

type Reporting = readonly (readonly [FindingCode, string])[];

function proposed(
  machines: readonly {
    readonly told: Reporting;
    readonly node?: object;
    readonly flavor?: object;
  }[],
  known: Partial<Parameters<typeof createProposal>[0]>,
): string {
  const proposal = createProposal({
    ...{ placement: new Map(), flavors: [], readings: new Map(), keys: [], images: null },
    ...known,
  });
  for (const [at, { told, node, flavor }] of machines.entries()) {
    const findings = told.map(([code, message]) => finding(code, "x", message));
    const line = { verdict: "blocked", uuid: `m${at + 1}`, bm_node_id: at + 1, findings };
    proposal.add(
      line as unknown as PlannedMachine,
      {
        node: { uuid: `m${at + 1}`, ...SIZE, ...node },
        nova: flavor === undefined ? null : { instance: { flavor } },
      } as unknown as Machine,
    );
  }
  return proposal.text();
}

const SIZE = { cpus: 8, memory_mb: 49_152, local_gb: 100 };

/** What is told of it, its reading, the keys its release reads, what is set, what is left to be accepted. */
const SETTINGS: readonly (readonly [
  string,
  Reporting,
  Partial<PowerReading> | null,
  readonly string[],
  string | null,
  number,
])[] = [
  ["nobody asked", [WANTS_SUITE], null, BOTH, null, 1],
  ["the BMC refused", [WANTS_SUITE], { ...READ, verdict: "no-ipmi2" }, BOTH, null, 1],
  [
    "a suite is needed",
    [WANTS_SUITE],
    { ...READ, advice: [SUITE] },
    BOTH,
    'ipmi_cipher_suite: "17"',
    0,
  ],
  ["and is not read", [CANNOT], { ...READ, advice: [SUITE] }, ["ipmi_priv_level"], null, 1],
  [
    "one of two is not read",
    [CANNOT, WANTS_LEVEL],
    { ...READ, advice: [SUITE, LEVEL] },
    ["ipmi_priv_level"],
    'ipmi_priv_level: "OPERATOR"',
    1,
  ],
  [
    "both are read",
    [WANTS_SUITE, WANTS_LEVEL],
    { ...READ, advice: [SUITE, LEVEL] },
    BOTH,
    'ipmi_cipher_suite: "17", ipmi_priv_level: "OPERATOR"',
    0,
  ],
  [
    "a level is needed, the suite by another ipmitool only",
    [WANTS_LEVEL],
    { ...READ, advice: [SUITE, LEVEL] },
    BOTH,
    'ipmi_priv_level: "OPERATOR"',
    0,
  ],
  ["it lists no suites", [SLOW], READ, BOTH, 'ipmi_cipher_suite: "3"', 0],
  ["which was not seen", [SLOW], { ...READ, suite: null }, BOTH, null, 0],
  ["and none can be named", [SLOW], READ, ["ipmi_priv_level"], null, 0],
  ["nothing is needed", [], { ...READ, advice: [SUITE] }, BOTH, null, 0],
];

for (const [name, told, reading, keys, settings, left] of SETTINGS)
  test(`settings that power found are proposed, and what they do not answer is left: ${name}`, () => {
    const readings = new Map(reading === null ? [] : [[1, reading as PowerReading]]);
    const text = proposed([{ told }], { readings, keys });
    assert.equal(/driver_info: \{(.*)\} {3}# found by power/.exec(text)?.[1] ?? null, settings);
    assert.equal([...text.matchAll(/finding: N2I-D602, reason: ""/g)].length, left, text);
  });

const POINT = { do: "point", kernel: "k-1", ramdisk: "r-1" } as const;

for (const [name, images, kernel, ramdisk] of [
  ["those of the options", POINT, "k-1", "r-1"],
  ["empty without options", { do: "keep" }, "", ""],
  ["empty without Nova", null, "", ""],
] as const)
  test(`deploy images are proposed where the release requires them: ${name}`, () => {
    const needed = ["N2I-D757", "without driver_info deploy_kernel, deploy_ramdisk"] as const;
    const set = `    set: {deploy_kernel: "${kernel}", deploy_ramdisk: "${ramdisk}"}\n`;
    assert.ok(proposed([{ told: [needed] }], { images }).includes(set));
    assert.ok(!proposed([{ told: [] }], { images }).includes("deploy_kernel"));
  });

function flavor(name: string, specs: object = {}, size: Partial<FlavorSize> = {}): MachineFlavor {
  const own = { vcpus: 8, memory_mb: 49_152, root_gb: 40, ephemeral_gb: 0, swap_mb: 0 };
  return { name, size: { name, ...own, ...size }, extra_specs: { ...specs } };
}

const GOLD = { "resources:CUSTOM_GOLD": "1" };
const SILVER = { "resources:CUSTOM_SILVER": "1" };

/** Flavors there are, the class of a free machine, and why. */
const CLASSES: readonly (readonly [string, readonly MachineFlavor[], string, RegExp])[] = [
  ["none", [], "", /^8 cpus, 49152 MiB, 100 GB$/],
  [
    "one asks for a class",
    [flavor("a", GOLD)],
    "gold",
    /^flavor a requests CUSTOM_GOLD: a guess by the size$/,
  ],
  ["one names deploy images", [flavor("big iron")], "big-iron", /^named after .* a guess$/],
  ["two ask for one class", [flavor("a", GOLD), flavor("b", GOLD)], "gold", /^flavor a requests/],
  [
    "two ask for two",
    [flavor("a", GOLD), flavor("b", SILVER)],
    "",
    /^several match: gold \(flavor a requests CUSTOM_GOLD\), silver \(flavor b requests/,
  ],
  ["a name is worth less", [flavor("old"), flavor("b", SILVER)], "silver", /^flavor b requests/],
  ["two of one name for Nova", [flavor("Old-1"), flavor("old_1")], "Old-1", /^named after/],
  ["not asked for", [flavor("a", { "resources:CUSTOM_GOLD": "0" })], "a", /^named after/],
  ["a smaller one", [flavor("a", GOLD, { vcpus: 1 })], "", /^8 cpus/],
  ["one of another memory", [flavor("a", GOLD, { memory_mb: 512 })], "", /^8 cpus/],
  ["one of a larger disk", [flavor("a", GOLD, { root_gb: 90, swap_mb: 10_241 })], "", /^8 cpus/],
  ["one of the same disk", [flavor("a", GOLD, { root_gb: 90, swap_mb: 10_240 })], "gold", /^flav/],
];

for (const [name, flavors, wanted, why] of CLASSES)
  test(`a free machine gets the class of the flavors of its size, where there is one: ${name}`, () => {
    const text = proposed([{ told: [["N2I-D407", "none"]] }], { flavors });
    const [, found, told] = /resource_class: "(.*)" {3}# (.*)/.exec(text) ?? [];
    assert.equal(found, wanted);
    assert.match(told ?? "", why);
  });

test("Placement's class stands before any flavor's, and machines beside flavors are weighed alike", () => {
  const told: Reporting = [["N2I-D407", "none"]];
  const classes = (flavors: readonly MachineFlavor[], placement: ReadonlyMap<string, string>) =>
    [
      ...proposed(
        [{ told, flavor: flavor("tenants", GOLD) }, { told }, { told, node: { cpus: 1 } }],
        { flavors, placement },
      ).matchAll(/resource_class: "(.*)"/g),
    ].map(([, name]) => name);
  const none = new Map<string, string>();
  assert.deepEqual(classes([], none), ["gold", "gold", ""]);
  assert.deepEqual(classes([flavor("old")], none), ["gold", "gold", ""]);
  assert.deepEqual(classes([flavor("b", SILVER)], none), ["gold", "", ""]);
  assert.deepEqual(
    classes(
      [flavor("b", SILVER)],
      new Map([
        ["m1", "CUSTOM_IRON"],
        ["m2", "CUSTOM_LEAD"],
      ]),
    ),
    ["iron", "lead", ""],
  );
});

test("a decision stands once, with every machine that it is about", () => {
  const disk = ["N2I-D403", "Ironic boots from disk only"] as const;
  const text = proposed([{ told: [disk] }, { told: [] }, { told: [disk, CANNOT] }], {});
  assert.equal(
    text.slice(text.indexOf("machines:")),
    [
      "machines:",
      "  - match:   # 2 machines",
      "      uuid:",
      '        - "m1"',
      '        - "m3"',
      '    accept: [{finding: N2I-D403, reason: ""}]   # Ironic boots from disk only',
      '  - match: {uuid: "m3"}',
      `    accept: [{finding: N2I-D602, reason: ""}]   # ${CANNOT[1]}`,
      "",
    ].join("\n"),
  );
});

test("machines of several sizes that get one class stand in one decision, in the order they went by", () => {
  const told: Reporting = [["N2I-D407", "none"]];
  const named = flavor("tenants", GOLD);
  const placement = new Map(["m1", "m2", "m4"].map((uuid) => [uuid, "CUSTOM_IRON"]));
  const text = proposed(
    [{ told }, { told, node: { cpus: 1 } }, { told, flavor: named }, { told, flavor: named }],
    { placement },
  );
  assert.deepEqual(text.split("\n").slice(-12), [
    "machines:",
    "  - match:   # 3 machines",
    "      uuid:",
    '        - "m1"',
    '        - "m2"',
    '        - "m4"',
    "    set:",
    '      resource_class: "iron"   # Placement has CUSTOM_IRON',
    '  - match: {uuid: "m3"}',
    "    set:",
    '      resource_class: "gold"   # flavor tenants requests CUSTOM_GOLD',
    "",
  ]);
});
