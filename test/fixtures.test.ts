import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Case } from "../src/demo/case.ts";
import { packageRoot } from "../src/demo/package-root.ts";
import { FINDINGS } from "../src/model/findings.ts";
import type { Drivers, States } from "../src/model/mapping.ts";
import { matchesGolden, planText } from "./support/golden.ts";
import { planned, withCase } from "./support/planned-case.ts";

const FOLDER = join(packageRoot(), "fixtures");
/** Releases whose API brought something an adoption needs, or took it away. */
const ADOPTED = ["newton", "rocky", "victoria", "xena", "2023.1"] as const;
const cases = readdirSync(FOLDER)
  .filter((name) => existsSync(join(FOLDER, name, "case.json")))
  .sort();

/** A case as it was written. */
function readCase(name: string): Case {
  // The form is the project's own.
  return JSON.parse(readFileSync(join(FOLDER, name, "case.json"), "utf8")) as Case;
}

/** A mapping document; the tool itself checks its form. */
function mapping<T>(name: string): T {
  return JSON.parse(readFileSync(join(packageRoot(), "mappings", name), "utf8")) as T;
}

// One folder, one case. A new case needs no code: case.json, then `npm run test:update`, then review.
for (const name of cases) {
  const at = (file: string): string => join(FOLDER, name, file);
  const given = readCase(name);
  test(`fixture ${name}: ${given.shows}`, async () => {
    await withCase(given, async (place) => {
      // The digest of a plan for Nova is over the folder it was made in, too.
      const { nova: _, ...counts } = (await planned(place)).counts;
      matchesGolden(at("expected/plan.txt"), await planText(place));
      matchesGolden(at("expected/counts.json"), `${JSON.stringify(counts, null, 2)}\n`);
    });
  });
}

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
  // What BMCs say comes from BMCs, what Nova's API says from a service, only MySQL keeps a NUL or refuses four-byte characters, and no
  // case can be written with bytes that are not UTF-8, or change between two commands.
  const elsewhere = /^N2I-D(6..|009|210|222|239|405)$/;
  const missing = Object.keys(FINDINGS).filter(
    (code) => !elsewhere.test(code) && !text.includes(code),
  );
  assert.deepEqual(missing, []);
});

test("every row of the state table has a fixture, and so has what becomes of it once accepted", () => {
  const text = expected();
  const { rows } = mapping<States>("states.json");
  const decisions = rows.flatMap(({ id, outcome, accepted }) =>
    [outcome, accepted].flatMap((into) => (into === undefined ? [] : [`state ${id} -> ${into}`])),
  );
  assert.deepEqual(
    decisions.filter((decision) => !text.includes(decision)),
    [],
  );
});

test("every power manager has a fixture on every release", () => {
  const shown = new Set(
    cases
      .map(readCase)
      .flatMap(({ ironic, nova_conf }) =>
        Object.values(nova_conf ?? { "*": {} }).map(
          ({ power_manager = "nova.virt.baremetal.ipmi.IPMI" }) =>
            `${power_manager} on ${ironic?.release ?? "juno"}`,
        ),
      ),
  );
  const wanted = mapping<Drivers>("drivers.json").drivers.flatMap(({ power_manager }) =>
    ["juno", "kilo", "2023.1"].flatMap((release) =>
      power_manager === null ? [] : [`${power_manager} on ${release}`],
    ),
  );
  assert.deepEqual(
    wanted.filter((pair) => !shown.has(pair)),
    [],
  );
});

test("every version of nova_bm, and every release of nova or none, has a fixture", () => {
  const given = cases.map(readCase);
  const versions = new Set(given.map(({ nova_bm }) => nova_bm.version ?? 10));
  assert.deepEqual(
    [...versions].sort((left, right) => left - right),
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
  );
  const novas = new Set(given.map(({ nova }) => (nova === null ? "none" : (nova?.version ?? 254))));
  assert.deepEqual([...novas].sort(), [216, 234, 254, 280, 402, "none"]);
});
