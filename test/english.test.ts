import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";

/** Joints and verbs that plain English does without. */
const STYLE: Readonly<Record<string, RegExp>> = {
  what: /\bwhat\b/gi,
  semicolon: /;\s+[a-z]/g,
  says: /\b(?:says?|said|tells?|told)\b/gi,
  where: /\bwhere\b/gi,
  adverb: /\b(?:anew|amid|beside|behind|meanwhile|all the same|by then)\b|\b(?:too|still)[.;,)]/gi,
  people: /\b(?:somebody|nobody|anybody|whoever)\b/gi,
};

/** How often each of them is in the texts of a kind, at most. The numbers may only fall. */
const MOST: Readonly<Record<string, readonly number[]>> = {
  manual: [0, 0, 0, 0, 0, 0],
  codes: [0, 0, 0, 0, 0, 0],
  documents: [4, 0, 0, 0, 0, 0],
  decisions: [0, 0, 0, 0, 0, 0],
  src: [78, 258, 0, 213, 2, 0],
};

const FILES = [
  "README.md",
  "CHANGELOG.md",
  ...["src", "test", "grenade", "mappings"].flatMap(filesOf),
];
/** Comments and literals of TypeScript. */
const TEXTS =
  /\/\*[\s\S]*?\*\/|\/\/[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`/g;

test("texts have no more of a style that is not plain English than before", () => {
  for (const [kind, most] of Object.entries(MOST)) {
    const text = FILES.filter((file) => kindOf(file) === kind)
      .map(textOf)
      .join("\n");
    assert.ok(text.length > 1000, kind);
    const counts = Object.values(STYLE).map((style) => text.match(style)?.length ?? 0);
    const more = counts.some((count, at) => count > (most[at] ?? 0));
    assert.ok(!more, `${kind} has ${counts.join(", ")} of ${Object.keys(STYLE).join(", ")}`);
  }
});

function filesOf(folder: string): readonly string[] {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return names.map((name) => `${folder}/${name}`);
}

function kindOf(file: string): string | null {
  if (file.endsWith(".ts")) return file.startsWith("src/") ? "src" : null;
  if (!file.endsWith(".md")) return null;
  if (file.endsWith("DECISIONS.md")) return "decisions";
  if (file.endsWith("manual/codes.md")) return "codes";
  return file.startsWith("src/manual/") ? "manual" : "documents";
}

/** Of a page all but its code, of code its comments and the literals of several words. */
function textOf(file: string): string {
  const text = readFileSync(file, "utf8");
  if (file.endsWith(".md")) return text.replace(/^```.*?^```|`[^`]*`/gms, "");
  return (text.match(TEXTS) ?? []).filter((one) => one.includes(" ")).join("\n");
}
