import assert from "node:assert/strict";
import { test } from "node:test";
import { EXIT_STATUS, type ExitName } from "../../src/lib/exit-status.ts";
import { REFUSALS } from "../../src/lib/refusals.ts";
import { compareRow } from "../../src/model/compare.ts";
import { mayBeSame, otherServer } from "../../src/model/database.ts";
import { gatherNics, type Nic } from "../../src/model/ironic/manage.ts";
import type { Row } from "../../src/model/machine.ts";
import { createTextSet, index } from "../../src/model/rows.ts";

test("rows are found by a column in any case, in their order, and those without a value never", () => {
  const rows: { id: number; uuid: string | null }[] = [
    { id: 1, uuid: "Ab" },
    { id: 2, uuid: null },
    { id: 3, uuid: "aB" },
    { id: 4, uuid: "" },
  ];
  const found = (value: string | null) => index(rows, "uuid")(value).map(({ id }) => id);
  assert.deepEqual([found("AB"), found(null), found(""), found("c")], [[1, 3], [], [], []]);
  assert.deepEqual(index(rows, "id")(4)[0]?.uuid, "");
});

test("a set of texts ignores case, and says whether a text is new", () => {
  const texts = createTextSet();
  assert.deepEqual(
    [texts.add("Ab"), texts.add("aB"), texts.has("AB"), texts.has("c")],
    [true, false, true, false],
  );
});

const PLANNED: Row = {
  uuid: "u1",
  maintenance: false,
  maintenance_reason: null,
  deploy_interface: null,
};

const told = (found: Row) => {
  const { differs, allowed: own } = compareRow(PLANNED, { ...PLANNED, ...found }, () => false);
  const names = (changes: typeof own) => changes.map(({ field }) => field);
  return { differs: names(differs), own: names(own) };
};

test("an interface nobody named is the conductor's to fill in, in the plan or not", () => {
  assert.deepEqual(told({ deploy_interface: "direct", firmware_interface: "no-firmware" }), {
    differs: [],
    own: ["deploy_interface", "firmware_interface"],
  });
});

test("maintenance is the conductor's own where its fault says that it could not read the power", () => {
  const given = { maintenance: true, maintenance_reason: "max retries exceeded" };
  const fields = ["maintenance", "maintenance_reason", "fault"];
  assert.deepEqual(told({ ...given, fault: "power failure" }), { differs: [], own: fields });
  assert.deepEqual(told({ ...given, fault: "clean failure" }), { differs: fields, own: [] });
});

test("a machine in use that is guarded less than it was loaded is the same machine, and no other change is", () => {
  const planned = {
    ...PLANNED,
    ...{ protected: true, protected_reason: "ours", automated_clean: false },
  };
  const differing = (found: Row): readonly string[] =>
    compareRow(planned, { ...planned, ...found }, () => false).differs.map(({ field }) => field);
  assert.deepEqual(differing({ protected: false, protected_reason: null }), []);
  assert.deepEqual(differing({ protected: false }), []);
  assert.deepEqual(differing({ automated_clean: null }), []);
  assert.deepEqual(differing({ automated_clean: true }), ["automated_clean"]);
  assert.deepEqual(differing({ protected_reason: "another" }), ["protected_reason"]);
  assert.deepEqual(differing({ protected_reason: null }), ["protected_reason"]);
  assert.deepEqual(differing({ protected: false, protected_reason: "another" }), [
    "protected_reason",
  ]);
});

const NODE = {
  engine: "mysql",
  address: "db1:3306",
  database: "ironic",
  server: "wsrep cluster 8a31",
};
const NEW = {
  ...{ engine: "postgresql", address: "db1:5432", database: "ironic" },
  server: "system 7301 16384 true",
};
const ALONE = { ...NODE, server: "1 db1 /var/lib/mysql/" };

const CASES: readonly (readonly [string, object, object, readonly string[]])[] = [
  ["another node of one cluster", NODE, { ...NODE, address: "db2:3306" }, []],
  ["another database of it", NODE, { ...NODE, database: "test" }, ["database"]],
  ["a node of another cluster", NODE, { ...NODE, server: "wsrep cluster 9b42" }, ["server"]],
  ["one data folder by another address", NEW, { ...NEW, address: "db2:5432" }, []],
  ["another server by one address", NEW, { ...NEW, server: "system 7302 16384 true" }, ["server"]],
  [
    "a server without a name, by another address",
    ALONE,
    { ...ALONE, address: "db2:3306" },
    ["address"],
  ],
];

for (const [what, planned, found, fields] of CASES)
  test(`${what} differs by ${fields.join(", ") || "nothing"}`, () =>
    assert.deepEqual(otherServer(planned, found), fields));

const FILE = { engine: "sqlite", address: "/a.sqlite", database: "/a.sqlite", server: "1:2" };

const SAME: readonly (readonly [string, object, object, boolean])[] = [
  ["another node of one cluster", NODE, { ...NODE, address: "db2:3306" }, true],
  ["its name in other case", NODE, { ...NODE, database: "IRONIC" }, true],
  ["another database of it", NODE, { ...NODE, database: "copy" }, false],
  ["one name on another cluster", NODE, { ...NODE, address: "b:1", server: "other" }, false],
  ["one address whose server has a new name", NODE, { ...NODE, server: "other" }, true],
  ["a server without a name, by another address", ALONE, { ...ALONE, address: "b:1" }, true],
  ["a pooler's other name of it", NEW, { ...NEW, address: "b:1", database: "copy" }, true],
  ["another database", NEW, { ...NEW, database: "copy", server: "system 7301 99 true" }, false],
  ["another engine", NODE, { ...NODE, engine: "postgresql" }, false],
  ["a link to a file", FILE, { ...FILE, address: "/b", database: "/b" }, true],
  ["another file", FILE, { ...FILE, address: "/b", database: "/b", server: "1:3" }, false],
];

for (const [what, planned, found, isSame] of SAME)
  test(`${what} ${isSame ? "may be" : "is not"} the same database`, () =>
    assert.equal(mayBeSame(planned, found), isSame));

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
    assert.deepEqual([...known.duplicates], [uuidOf("c", 1)]);
  });

/** What a refusal says by its status: nothing was done, but for one that stopped midway. */
const MAY: { readonly [name in ExitName]?: readonly string[] | "any" } = {
  failed: "any",
  refused: "any",
  denied: "any",
  usage: "any",
  halfway: ["N2I-E301", "N2I-E217", "N2I-E363", "N2I-E388", "N2I-E390"],
  locked: ["N2I-E302", "N2I-E318", "N2I-E362", "N2I-E380", "N2I-E381"],
  bug: ["N2I-E900"],
};

test("a refusal has no status that says something was done, and each has one of the table", () => {
  for (const [code, { exit }] of Object.entries(REFUSALS)) {
    const name = Object.entries(EXIT_STATUS).find(([, { status }]) => status === exit)?.[0];
    const may = MAY[name as ExitName]; // a name of the table, or undefined
    assert.ok(may === "any" || may?.includes(code), `${code} exits ${exit}, ${name}`);
  }
});

test("what only the command line can fix is its fault", () => {
  for (const code of ["N2I-E100", "N2I-E107", "N2I-E305", "N2I-E306"] as const)
    assert.equal(REFUSALS[code].exit, EXIT_STATUS.usage.status, code);
});
