import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";

const PAGES = ["src", "test"].flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith("DECISIONS.md"))
    .map((name) => join(folder, name)),
);

test("a decision has a title, its context, what was decided and what follows, in six lines", () => {
  const wrong = PAGES.flatMap((page) =>
    decisions(page)
      .filter(
        (text) =>
          !/^[^\n]+\n- Context: .+\n- Decision: .+\n- Consequence: /s.test(text) ||
          text.split("\n").length > 6,
      )
      .map((text) => `${page}: ${text.split("\n")[0]}`),
  );
  assert.deepEqual(wrong, []);
  const count = PAGES.flatMap(decisions).length;
  assert.ok(count > 40 && count <= 60, String(count));
});

test("the map and the decisions name files that exist", () => {
  const gone = [...PAGES, "src/README.md"].flatMap((page) =>
    [...readFileSync(page, "utf8").matchAll(/`([\w./-]+\.(?:ts|js|json|txt|md))`/g)]
      .map(([, name = ""]) => name)
      // A name in capitals stands for any; a file of a run's folder is none of ours.
      .filter((name) => !/\b[A-Z]+\.(ts|json)$|^[\w-]+\.json$|^DECISIONS\.md$/.test(name))
      .filter((name) =>
        ["", dirname(page), "src", "test", "mappings"].every((at) => !existsSync(join(at, name))),
      )
      .map((name) => `${page}: ${name}`),
  );
  assert.deepEqual(gone, []);
});

function decisions(page: string): readonly string[] {
  return readFileSync(page, "utf8")
    .split(/^## /m)
    .slice(1)
    .map((text) => text.trim());
}
