import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { compileSite } from "../../../src/migrate/transform/site.ts";
import type { Machine } from "../../../src/model/machine.ts";
import type { Site } from "../../../src/model/mapping.ts";
import { holds } from "../../support/seeded.ts";

type Entry = Site["machines"][number];
type Columns = { readonly [column: string]: string | number | null };

interface Values {
  readonly driver_info?: object;
}

function site(machines: readonly Entry[]): Site {
  return { file: "site.yaml", machines, rules: { node: [], port: [] }, drops: {} };
}

/** Of a machine its node's columns alone are asked. */
function machine(node: object): Machine {
  return { node } as unknown as Machine;
}

/** As the manual has it, each entry asked for each machine: set, skip, accept, and what no machine had. */
function plainly(entries: readonly Entry[], nodes: readonly Columns[]) {
  const used = new Set<string>();
  // No text of these has a letter that an expression would read otherwise.
  const fits = (value: unknown, text: string): boolean =>
    (typeof value === "string" || typeof value === "number") &&
    new RegExp(`^${text.replaceAll("*", ".*")}$`, "i").test(String(value));
  const decided = nodes.map((node) => {
    const own = entries.filter((entry, at) => {
      const all = Object.entries(entry.match).every(([column, texts]) => {
        const fitting = [texts].flat().filter((text) => fits(node[column], text));
        for (const text of fitting) used.add(`${at} ${column} ${text.toLowerCase()}`);
        return fitting.length > 0;
      });
      if (all) used.add(`${at}`);
      return all;
    });
    const sets: readonly Values[] = own.map(({ set = {} }) => set);
    const driver_info: object = Object.assign({}, ...sets.map((set) => set.driver_info));
    return {
      // A later entry adds keys to an object, and replaces any other value.
      set: Object.assign(
        {},
        ...sets,
        sets.some((set) => "driver_info" in set) && { driver_info },
      ) as object,
      skip: own.findLast((entry) => entry.skip !== undefined)?.skip ?? null,
      accept: own.toReversed().flatMap(({ accept }) => accept ?? []),
    };
  });
  const missed = entries.flatMap(({ match }, at) => {
    if (!used.has(`${at}`) && Object.keys(match).length > 0)
      return [`${at} ${JSON.stringify(match)}`];
    return Object.entries(match).flatMap(([column, texts]) =>
      typeof texts === "string"
        ? []
        : [...new Map(texts.map((text) => [text.toLowerCase(), text]))].flatMap(([own, text]) =>
            used.has(`${at} ${column} ${own}`)
              ? []
              : [`${at} ${JSON.stringify({ [column]: text })}`],
          ),
    );
  });
  return { decided, missed };
}

const TEXTS = fc.constantFrom("a", "A", "b", "ab", "1", "2", "a*", "*B", "*", "");
const MATCH = fc
  .uniqueArray(
    fc.tuple(
      fc.constantFrom("uuid", "service_host", "id"),
      fc.oneof(TEXTS, fc.array(TEXTS, { minLength: 1, maxLength: 4 })),
    ),
    { selector: ([column]) => column, maxLength: 3 },
  )
  .map((pairs) => Object.fromEntries(pairs));
const NUMBER = fc.integer({ min: 0, max: 99 });
const ENTRY = fc.record(
  {
    match: MATCH,
    set: fc.record(
      {
        name: NUMBER,
        owner: NUMBER,
        driver_info: fc.dictionary(fc.constantFrom("a", "b"), NUMBER),
      },
      { requiredKeys: [] },
    ),
    skip: fc.string({ minLength: 1, maxLength: 3 }),
    accept: fc.array(
      fc.record({ finding: fc.constant("N2I-D403" as const), reason: fc.string({ maxLength: 3 }) }),
      { maxLength: 2 },
    ),
  },
  { requiredKeys: ["match"] },
);
const NODE = fc.record({
  uuid: fc.constantFrom("a", "A", "b", "aB", null),
  service_host: fc.constantFrom("a", "b", "ab", "", null),
  id: fc.integer({ min: 1, max: 3 }),
});

test("entries found by a text decide what asking each one in the order of the document decides", () => {
  const entries = fc.array(ENTRY, { maxLength: 9 });
  holds(2000, entries, fc.array(NODE, { maxLength: 6 }), (document, nodes) => {
    const { of, unmatched } = compileSite(site(document));
    const { decided, missed } = plainly(document, nodes);
    const found = nodes.map((node) => of(machine(node)));
    assert.deepEqual(
      found.map(({ flat: _, ...rest }) => rest),
      decided,
    );
    for (const { set, flat } of found) {
      const nested = Object.entries(set.driver_info ?? {});
      const named = nested.map(([key, value]) => [`driver_info.${key}`, value]);
      assert.deepEqual(flat, { ...set, ...Object.fromEntries(named) });
    }
    assert.deepEqual(
      unmatched().map(({ code, place, message }) => {
        assert.equal(code, "N2I-D310");
        const [, at] = /machines\/(\d+)\/match$/.exec(place) ?? [];
        return `${at} ${message.replace("no machine has ", "")}`;
      }),
      missed,
    );
  });
});

for (const [name, match] of [
  ["a uuid", (at: number) => ({ uuid: `m${at}` })],
  ["a host and a uuid", (at: number) => ({ service_host: "h", uuid: `m${at}` })],
  ["a list of a uuid and an id", (at: number) => ({ uuid: [`m${at}`], id: `${at}` })],
  ["an address", (at: number) => ({ pm_address: `10.0.0.${at}`, service_host: "h" })],
] as const)
  test(`of a document with an entry for each machine few are asked about one: ${name}`, () => {
    const SIZE = 300;
    const all = Array.from({ length: SIZE }, (_, at) => at);
    const { of } = compileSite(site(all.map((at) => ({ match: match(at), skip: `s${at}` }))));
    let read = 0;
    for (const at of all) {
      const columns = { uuid: `M${at}`, id: at, service_host: "h", pm_address: `10.0.0.${at}` };
      const node = new Proxy(columns, {
        get: (from, column) => {
          if (column !== "extra") read += 1;
          return Reflect.get(from, column) as unknown;
        },
      });
      assert.equal(of(machine(node)).skip, `s${at}`);
    }
    assert.ok(read <= 4 * SIZE, `${read} columns read of ${SIZE} machines`);
  });
