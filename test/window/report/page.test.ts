import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import { UNSEEN } from "../../../src/lib/text.ts";
import { markdown } from "../../../src/window/report/markdown.ts";
import type { DetailBlock, ListedMachine } from "../../../src/window/report/page/data.ts";
import { packed, page } from "../../../src/window/report/page/page.ts";
import type { Reported } from "../../../src/window/report/report.ts";
import { matchesGolden } from "../../support/golden.ts";
import { HOSTILE, MACHINES, reported, sampleFacts } from "./sample.ts";

const ASSETS = { script: "void 0", style: "p{margin:0}" };
const ISLAND = /<script type="text\/plain" (?:class|id)="([\w-]+)">([\w+/=]+)<\/script>\n/g;

const REPORTED = reported(MACHINES.length);

async function* batches(times: number): AsyncGenerator<readonly Reported[]> {
  for (let at = 0; at < times; at += 1) yield REPORTED;
}

async function pageOf(times = 1): Promise<string> {
  const first = REPORTED.map(({ machine }) => machine);
  const origins = [["uuid", HOSTILE]] as const;
  const machines = () => packed(batches(times), origins);
  const shown = { facts: sampleFacts(), first, machines };
  let text = "";
  for await (const piece of page(shown, ASSETS)) text += piece;
  return text;
}

function islandsOf(text: string): readonly (readonly [name: string, value: unknown])[] {
  return [...text.matchAll(ISLAND)].map(([, name = "", packed = ""]) => [
    name,
    JSON.parse(gunzipSync(Buffer.from(packed, "base64")).toString("utf8")),
  ]);
}

test("the page is the one reviewed", async () => {
  const text = (await pageOf()).replaceAll(ISLAND, "<!-- $1 -->\n");
  matchesGolden("test/window/report/expected/report.html.txt", text);
});

test("nothing that a database holds is markup, ends the script or turns the text around", async () => {
  const text = await pageOf();
  assert.equal(text.replaceAll("\n", "").search(UNSEEN), -1);
  const rest = text.replaceAll(ISLAND, "").replace(`<script>${ASSETS.script}</script>`, "");
  assert.doesNotMatch(rest, /<\/?script|<img|<!--(?! nova2ironic report)/i);
  assert.doesNotMatch(rest, /="[^"<>]*onerror=alert\(2\)[^"]*["'][^>]/);
  // It is there all the same, written out.
  assert.match(rest, /&lt;\/script&gt;&lt;script&gt;alert\(1\)/);
});

test("the page allows itself its own script and style sheet, and nothing else", async () => {
  const [, policy = ""] = /Content-Security-Policy" content="([^"]+)"/.exec(await pageOf()) ?? [];
  const hash = (of: string): string => createHash("sha256").update(of).digest("base64");
  assert.deepEqual(policy.split("; "), [
    ...["default-src 'none'", `script-src 'sha256-${hash(ASSETS.script)}'`],
    ...[`style-src 'sha256-${hash(ASSETS.style)}'`, "base-uri 'none'", "form-action 'none'"],
  ]);
  assert.doesNotMatch(await pageOf(), / (?:src|style|on\w+)="|href="(?!#)/);
});

test("every machine is in the page, in rows to list and in blocks to look into", async () => {
  const times = 100;
  const islands = islandsOf(await pageOf(times));
  const index = islands.filter(([name]) => name === "index").map(([, value]) => value);
  assert.equal((index as ListedMachine[][]).flat().length, times * MACHINES.length);
  const blocks = islands.filter(([name]) => name.startsWith("details-"));
  const sizes = blocks.map(([name, value]) => `${name} ${(value as DetailBlock).machines.length}`);
  assert.deepEqual(sizes, ["details-0 250", "details-1 250", "details-2 200"]);
  const [{ machines, origins }] = blocks.map(([, value]) => value) as [DetailBlock];
  assert.equal(origins.length, 2, "what machines share is stored once");
  assert.match(machines[0]?.title ?? "", /^bm_nodes\.id=1: create, state free -> available$/);
  assert.match(machines[0]?.records[0]?.[1][0]?.[0] ?? "", /^\+uuid = "a0000000/);
});

test("the report for a change ticket is the one reviewed", () => {
  matchesGolden("test/window/report/expected/report.md", markdown(sampleFacts(), true));
  matchesGolden("test/window/report/expected/page.md", markdown(sampleFacts(), false));
});

test("nothing that a database holds is markup, a row or a line of the ticket", () => {
  const text = markdown(sampleFacts(), true);
  assert.doesNotMatch(text, /(?<!\\)</);
  assert.equal(text.replaceAll("\n", "").search(UNSEEN), -1);
  const table = text.split("\n").filter((line) => line.startsWith("| N2I-"));
  assert.ok(table.length > 0);
  for (const line of table) assert.match(line, /^(\|( (?:\\.|[^|\\])*)?){3,4}\|$/);
});

test("a ticket is a page or two, however many causes there are", () => {
  const facts = sampleFacts();
  const [one] = facts.totals.skipped;
  assert.ok(one);
  const skipped = Array.from({ length: 500 }, (_, at) => ({ ...one, reason: `reason ${at}` }));
  const text = markdown(sampleFacts({ totals: { ...facts.totals, skipped } }), true);
  assert.ok(text.split("\n").length < 150);
  assert.match(text, /\| and 488 more \|/);
});

test("what was found in Nova is listed, and more of it counted", () => {
  const text = markdown(sampleFacts(), true);
  assert.match(text, /## Found in Nova\n\n\| Code \| Where \| What \|/);
  assert.match(text, /\| N2I-D304 \| services\.id=4 \| host compute-1 is up \|/);
  assert.match(text, /\nand 1 more\n/);
});
