import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createMet, index, metMany, pack } from "../../src/model/packed.ts";
import { createTexts, type Texts } from "../../src/model/texts.ts";
import { seeded } from "../support/seeded.ts";

interface Row {
  readonly id: number;
  readonly uuid: string | null;
  readonly host: string | null;
  readonly is: boolean;
}

const KINDS = { id: "number", uuid: "text", host: "word", is: "word" } as const;

/** Uuids, the same in capitals, the one that stands for other text, and other text; few, so that some are alike. */
const name = fc.oneof(
  fc.constantFrom(
    ...["ffffffff-0000-4000-8000-000000000001", "a0000000-0000-4000-8000-00000000000A"],
    ...["a0000000-0000-4000-8000-00000000000a", "", " ", "a-1", "A-1", "node\u0000"],
  ),
  fc.uuid(),
  fc.string({ maxLength: 3 }),
);
const row = fc.record(
  {
    id: fc.integer({ min: -1, max: 2 ** 52 }),
    uuid: fc.option(name),
    host: fc.option(fc.constantFrom("c-1", "c-2")),
    is: fc.boolean(),
  },
  { noNullPrototype: true },
);
const rows = fc.array(row, { maxLength: 30 });

function packed(all: readonly Row[], texts?: Texts) {
  const made = pack<Row>(KINDS, texts);
  for (const one of all) made.put(one);
  return made;
}

const plain = ({ id, uuid, host, is }: Row): Row => ({ id, uuid, host, is });

test("packed rows give what was put, by position, in order, and by any column as an array does", () => {
  fc.assert(
    fc.property(rows, fc.array(name), (all, names) => {
      const some = packed(all);
      assert.equal(some.length, all.length);
      assert.deepEqual(Array.from(some, plain), all);
      assert.deepEqual([some.at(-1), some.at(all.length)], [undefined, undefined]);
      for (const text of [...names, ...all.map(({ uuid }) => uuid), null]) {
        const key = (text ?? "").toLowerCase();
        const wanted = all.filter(({ uuid }) => key !== "" && (uuid ?? "").toLowerCase() === key);
        assert.deepEqual(index(some, "uuid")(text).map(plain), wanted);
        assert.deepEqual(index(all, "uuid")(text), wanted);
      }
      const inOrder = all.toSorted((one, other) => one.id - other.id);
      for (const these of [all, inOrder])
        for (const column of ["id", "host"] as const)
          for (const { [column]: value } of [...these, { id: -2, host: "c-3" }])
            assert.deepEqual(
              index(packed(these), column)(value).map(plain),
              these.filter((one) => value !== null && one[column] === value),
            );
    }),
    seeded(40),
  );
});

test("rows and texts that share what they name are found as if they did not", () => {
  fc.assert(
    fc.property(rows, rows, fc.array(name), (ones, others, names) => {
      const texts = createTexts();
      const met = createMet(texts);
      const some = packed(ones, texts);
      const find = index(some, "uuid");
      for (const text of names) met.add(text);
      const more = packed(others, texts);
      assert.deepEqual([Array.from(some, plain), Array.from(more, plain)], [ones, others]);
      for (const text of [...names, ...[...ones, ...others].map(({ uuid }) => uuid ?? "")]) {
        assert.deepEqual(find(text).map(plain), index(ones, "uuid")(text));
        assert.deepEqual(index(more, "uuid")(text).map(plain), index(others, "uuid")(text));
        assert.equal(
          met.has(text),
          names.some((one) => one.toLowerCase() === text.toLowerCase()),
        );
      }
    }),
    seeded(100),
  );
});

test("several tables that share their texts find the same machine", () => {
  const texts = createTexts();
  const uuidOf = (n: number): string =>
    `${n.toString(16).padStart(8, "0")}-0000-4000-8000-000000000000`;
  const tables = [1, 2, 3, 4].map(() => packed([], texts));
  const met = createMet(texts);
  for (let id = 0; id < 5000; id += 1) {
    met.add(uuidOf(id));
    for (const table of tables) table.put({ id, uuid: uuidOf(id), host: "c-1", is: true });
  }
  const found = tables.flatMap((table) => index(table, "uuid")(uuidOf(4999)));
  assert.deepEqual(
    found.map(({ id }) => id),
    [4999, 4999, 4999, 4999],
  );
});

test("rows of many parts, and those put after an index was made, are found", () => {
  const uuidOf = (n: number): string => `a0000000-0000-4000-8000-${String(n).padStart(12, "0")}`;
  const made = pack<Row>(KINDS);
  const put = (id: number): void => made.put({ id, uuid: uuidOf(id), host: null, is: false });
  for (let id = 0; id < 10_000; id += 1) put(id);
  for (const id of [0, 4095, 4096, 9999])
    assert.deepEqual(index(made, "uuid")(uuidOf(id).toUpperCase())[0]?.id, id);
  put(10_000);
  assert.equal(index(made, "uuid")(uuidOf(10_000))[0]?.id, 10_000);
});

test("texts that were met are known again in capitals, and no others", () => {
  fc.assert(
    fc.property(fc.array(name, { maxLength: 60 }), fc.array(name), (all, others) => {
      const met = createMet();
      const known = new Set<string>();
      for (const text of all) {
        assert.equal(met.add(text), !known.has(text.toLowerCase()));
        known.add(text.toLowerCase());
      }
      for (const text of [...all, ...others])
        assert.equal(met.has(text.toUpperCase()), known.has(text.toUpperCase().toLowerCase()));
    }),
    seeded(100),
  );
});

test("MACs are given as they were put, and so is what is none", () => {
  const mac = fc
    .array(fc.integer({ min: 0, max: 255 }), { minLength: 6, maxLength: 6 })
    .map((bytes) => bytes.map((byte) => byte.toString(16).padStart(2, "0")).join(":"));
  const value = fc.option(
    fc.oneof(mac, name, fc.constantFrom("AA:BB:CC:DD:EE:FF", "00:00:00:00:00:00", "aa:bb")),
  );
  fc.assert(
    fc.property(fc.array(value, { maxLength: 60 }), (all) => {
      const made = pack<{ readonly mac: string | null }>({ mac: "mac" });
      for (const one of all) made.put({ mac: one });
      assert.deepEqual(
        Array.from(made, ({ mac }) => mac),
        all,
      );
      for (const one of all)
        if (one !== null && one !== "")
          assert.equal(index(made, "mac")(one)[0]?.mac?.toLowerCase(), one.toLowerCase());
    }),
    seeded(100),
  );
});

test("texts that become many are met as when they were few", () => {
  const uuidOf = (n: number): string => `a0000000-0000-4000-8000-${String(n).padStart(12, "0")}`;
  const met = metMany();
  for (let id = 0; id < 10_050; id += 1)
    assert.deepEqual([met.add(uuidOf(id).toUpperCase()), met.add(uuidOf(id))], [true, false]);
  for (const id of [0, 9999, 10_000, 10_049]) assert.ok(met.has(uuidOf(id).toUpperCase()));
  assert.ok(!met.has(uuidOf(10_050)));
});

test("short texts are given as they were put, and so is what is longer, wider or none", () => {
  const long = fc.constantFrom("x".repeat(255), "y".repeat(256), "\u00ff\u0000", "\u0100", "");
  const value = fc.option(fc.oneof(fc.string({ unit: "binary" }), long, fc.ipV4()));
  fc.assert(
    fc.property(fc.array(value, { maxLength: 200 }), (all) => {
      const made = pack<{ readonly text: string | null }>({ text: "short" });
      for (const one of all) made.put({ text: one });
      assert.deepEqual(
        Array.from(made, ({ text }) => text),
        all,
      );
      for (const one of all.slice(0, 5))
        if (one !== null && one !== "")
          assert.equal(index(made, "text")(one)[0]?.text?.toLowerCase(), one.toLowerCase());
    }),
    seeded(40),
  );
});

test("short texts of many parts are given as they were put", () => {
  const made = pack<{ readonly text: string }>({ text: "short" });
  const textOf = (n: number): string => `${n}${"x".repeat(n % 250)}`;
  for (let n = 0; n < 2000; n += 1) made.put({ text: textOf(n) });
  assert.deepEqual(
    Array.from(made, ({ text }) => text),
    Array.from({ length: 2000 }, (_, n) => textOf(n)),
  );
});
