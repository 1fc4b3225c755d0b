import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { LEGACY_MOVES, MOVES } from "../src/model/findings/nova.ts";
import { FINDINGS } from "../src/model/findings.ts";
import type { Drivers, States } from "../src/model/mapping.ts";
import { packageRoot } from "../src/run/files/package-root.ts";
import { cases, FOLDER, readCase } from "./fixtures/plans.ts";
import { matchesGolden, planText } from "./support/golden.ts";
import { accepting, heldByApply } from "./support/held-by-apply.ts";
import { planned, planOf, withCase } from "./support/planned-case.ts";

/** Releases whose API brought something an adoption needs, or took it away. */
const ADOPTED = ["newton", "rocky", "victoria", "xena", "2023.1"] as const;

/** Codes that a case can show: of compute hosts there is none, `takeover/rules/moves.test` and `takeover/legacy.test` show theirs. */
const CODES = Object.keys(FINDINGS).filter(
  (code) => !Object.hasOwn({ ...MOVES, ...LEGACY_MOVES }, code),
);

function isAcceptable(code: string): boolean {
  return Object.entries(FINDINGS).some(([own, kind]) => own === code && "acceptable" in kind);
}

/** A mapping document; the tool itself checks its form. */
function mapping<T>(name: string): T {
  return JSON.parse(readFileSync(join(packageRoot(), "mappings", name), "utf8")) as T;
}

test("apply holds no fact against a machine that the plan accepted, whichever it is", async () => {
  // One case of each kind: those that share their findings say the same.
  const kinds = new Map(
    cases.map((name) => {
      const codes = blockedBy(name);
      return [codes.join(), [name, codes] as const];
    }),
  );
  const wanted = [...kinds.values()].filter(([, codes]) => codes.length > 0);
  const seen = new Set<string>();
  for (const [name, codes] of wanted)
    await withCase(accepting(readCase(name), codes), async (place) => {
      await planned(place);
      assert.deepEqual(await heldByApply(place), [], name);
      for await (const batch of (await planOf(place)).lines())
        for (const { verdict, findings } of batch)
          for (const { code, accepted } of findings)
            if (verdict === "create" && accepted !== undefined) seen.add(code);
    });
  // What BMCs say has no fixture, nor have requests on their way, what adoption lacks is of REST, and a deleted machine is not loaded.
  const missing = CODES.filter(
    (code) => isAcceptable(code) && !seen.has(code) && !/^N2I-D(6..|755|005|243)$/.test(code),
  );
  assert.deepEqual(missing, []);
});

test("the demo's BMCs have documentation addresses", () => {
  // @source RFC 5737: a user who runs power on the demo's files must reach no machine.
  for (const { pm_address } of readCase("demo").nova_bm.nodes)
    assert.match(String(pm_address), /^(192\.0\.2\.\d+\b|null$)/);
});

for (const release of ADOPTED)
  test(`fixture adopted: over REST ${release} gets what its microversion carries`, async () => {
    const written = readCase("adopted");
    // Its conductor has the columns of its own release.
    const ironic = release === written.ironic?.release ? written.ironic : { release };
    const given = { ...written, ironic };
    await withCase(given, async (place) => {
      await planned(place, { rest: true });
      const path = join(FOLDER, "adopted", "expected", `${release}.txt`);
      matchesGolden(path, await planText(place));
    });
  });

/** Acceptable findings of a case's plan. */
function blockedBy(name: string): readonly string[] {
  const counts = JSON.parse(readFileSync(join(FOLDER, name, "expected/counts.json"), "utf8")) as {
    readonly findings: { readonly [code: string]: number };
  };
  return Object.keys(counts.findings).filter(isAcceptable);
}

function expected(): string {
  return cases
    .flatMap((name) =>
      ["plan.txt", "counts.json"].map((file) => join(FOLDER, name, "expected", file)),
    )
    .concat(join(FOLDER, "releases", "expected", "by-release.txt"))
    .concat(ADOPTED.map((release) => join(FOLDER, "adopted", "expected", `${release}.txt`)))
    .map((path) => readFileSync(path, "utf8"))
    .join("");
}

test("every finding of the rows, the tenant, Nova, the configuration, the record and Ironic has a fixture", () => {
  const text = expected();
  // What BMCs say comes from BMCs, only MySQL keeps a NUL or refuses four-byte characters, and no
  // case can be written with bytes that are not UTF-8, or change between two commands.
  const elsewhere = /^N2I-D(6..|009|210|222|243|405)$/;
  const missing = CODES.filter((code) => !elsewhere.test(code) && !text.includes(code));
  assert.deepEqual(missing, []);
});

test("every row of the state table has a fixture, and so has what becomes of it once accepted", () => {
  const text = expected();
  const { rows } = mapping<States>("states.json");
  const decisions = rows.flatMap(({ id, outcome, accepted }) =>
    [outcome, accepted].flatMap((into) => (into === undefined ? [] : [`state ${id} -> ${into}`])),
  );
  const missing = decisions.filter((decision) => !text.includes(decision));
  assert.deepEqual(missing, []);
});

test("every power manager has a fixture on every release", () => {
  const shown = new Set(
    cases
      .map(readCase)
      .flatMap(({ ironic, nova_conf }) =>
        Object.values(nova_conf ?? { "*": {} }).map(
          (options) =>
            `${options?.power_manager ?? "nova.virt.baremetal.ipmi.IPMI"} on ${ironic?.release ?? "juno"}`,
        ),
      ),
  );
  const wanted = mapping<Drivers>("drivers.json").drivers.flatMap(({ power_manager }) =>
    ["juno", "kilo", "2023.1"].flatMap((release) =>
      power_manager === null ? [] : [`${power_manager} on ${release}`],
    ),
  );
  const missing = wanted.filter((pair) => !shown.has(pair));
  assert.deepEqual(missing, []);
});

test("each case's name begins with a small letter, by which its plan is tested", () => {
  const wrong = cases.filter((name) => !/^[a-z]/.test(name));
  assert.deepEqual(wrong, []);
});

test("every version of nova_bm, and every release of nova or none, has a fixture", () => {
  const given = cases.map(readCase);
  const versions = new Set(given.map(({ nova_bm }) => nova_bm.version ?? 10));
  const sorted = [...versions].sort((left, right) => left - right);
  assert.deepEqual(sorted, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  const novas = new Set(given.map(({ nova }) => (nova === null ? "none" : (nova?.version ?? 254))));
  assert.deepEqual([...novas].sort(), [216, 234, 254, 280, 402, "ab450ba04102", "none"]);
});
