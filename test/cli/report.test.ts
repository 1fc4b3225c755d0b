import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import { searchFiles } from "../hostile/canaries.ts";
import { assertRefusal, run, runs } from "../hostile/cli.ts";
import { deployFiles } from "../hostile/deployment.ts";
import { SMALL } from "../hostile/fleet.ts";
import { deploySecrets } from "../hostile/secrets-case.ts";

test("a report in any form tells what was run and how long it took, and keeps no secret", async (t) => {
  const made = await deploySecrets("sqlite", t);
  const { at, source, reader, writer, plan, folder, find } = made;
  for (const words of [
    ["extract", ...at, ...source],
    ["plan", ...at, ...reader, ...plan],
    ["apply", ...at, ...writer, "--yes", "--skip-blocked"],
  ])
    await made.tried(words);
  const words = ["report", ...at, "--format", "md", "--all", "--window", "23:00-02:00"];
  const md = await made.silently(0, words);
  assert.match(md.out, /\| 12\. extract \| .* \| 23:\d\d \| .* \| 01:5\d \| measured 20\d\d-/);
  assert.match(md.out, /\| 14\. apply \| .* \| \d+ rows at [\d.]+ a second, as before/);
  mkdirSync(join(folder, "out"));
  const file = join(folder, "out", "change.md");
  for (const words of [["--format", "md", "-o", file], []])
    await made.silently(0, ["report", ...at, ...words]);
  assert.deepEqual(searchFiles(find, [join(folder, "out"), unpacked(made.run, folder)]), []);
  assert.equal(statSync(join(made.run, "report.html")).mode & 0o777, 0o600);
  assert.equal(statSync(file).mode & 0o777, 0o600);
});

/** What the page of a run has packed, in a folder of its own. */
function unpacked(run: string, folder: string): string {
  const page = readFileSync(join(run, "report.html"), "utf8");
  // Some are in the page itself, with what the snapshot alone says of them.
  assert.match(page, /<td class="number">1<\/td>.*<bdi>[^<]*\d+\.\d+\.\d+\.\d+<\/bdi>/);
  const islands = [...page.matchAll(/<script type="text\/plain" [^>]+>([^<]+)</g)];
  assert.ok(islands.length >= 3);
  const texts = islands.map(([, packed = ""]) => gunzipSync(Buffer.from(packed, "base64")));
  const at = join(folder, "unpacked");
  mkdirSync(at);
  writeFileSync(join(at, "data.json"), Buffer.concat(texts));
  return at;
}

test("a report writes over another report, and over nothing else", async (t) => {
  const made = await deployFiles(t, SMALL);
  const { at, source, reader, plan, folder } = made;
  const report = ["report", ...at, "--format", "md", "--all", "-o"];
  assertRefusal(await run([...report, join(folder, "x.md")]), 64, "N2I-E110");
  await runs(0, ["extract", ...at, ...source, "-q"]);
  assertRefusal(await run([...report, join(folder, "x.md")]), 64, "N2I-E110", /plan/);
  assertRefusal(await run([...report, "x.md", "--window", "2-5"]), 64, "N2I-E100", /FROM-TO/);
  await runs(0, ["plan", ...at, ...reader, ...plan, "-q"]);
  const file = join(folder, "x.md");
  assert.equal(existsSync(file), false);
  await runs(0, [...report, file]);
  assert.match(readFileSync(file, "utf8"), /\| 3 min \| .* 8 machines every 180 s, by Iron/);
  const conf = join(folder, "ironic.conf");
  writeFileSync(conf, "[conductor]\nsync_local_state_interval = 9\n");
  writeFileSync(join(made.run, "connections.yaml"), `ironic_conf: ${conf}\n`, { flag: "a" });
  await runs(0, [...report, file]);
  assert.match(readFileSync(file, "utf8"), /\| 9 s \| .* 8 machines every 9 s, by \S+ironic\.conf/);
  const check = ["check", ...at, ...source.slice(0, 4), ...reader, "--watch", "0", "--all-rows"];
  assert.match((await run(check)).out, /Take-over of 1 machine in use: 9 s, 8 machines every 9 s/);
  // Its own page stands in the run, and no other command may write there meanwhile.
  await runs(0, ["report", ...at]);
  await runs(0, ["report", ...at]);
  const mine = join(folder, "mine.md");
  writeFileSync(mine, "mine");
  assertRefusal(await run([...report, mine]), 64, "N2I-E100", /is no report/);
  assert.equal(readFileSync(mine, "utf8"), "mine");
  assertRefusal(await run([...report, join(folder, "no", "where.md")]), 1, "N2I-E120");
  const left = readdirSync(folder).filter((name) => name.includes("n2i-tmp"));
  assert.deepEqual(left, []);
});
