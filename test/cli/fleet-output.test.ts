import assert from "node:assert/strict";
import { test } from "node:test";
import { writeCase } from "../cases/write-case.ts";
import { ends, leavingNova } from "../hostile/cli.ts";
import { privateFolder } from "../hostile/deployment.ts";
import { withBmcs } from "../lab/bmc/with-farm.ts";
import { runIn } from "../support/in-process.ts";
import { bmcOf, MACHINES, messy } from "../support/messy.ts";

/** Lines that a tired operator reads: a page. */
const PAGE = 60;

test("of three hundred machines, a third of them broken, no command says more than a page", async (t) => {
  const ids = Array.from({ length: MACHINES }, (_, at) => at + 1);
  // A farm has no more addresses.
  const [one, other] = [ids.slice(0, MACHINES / 2), ids.slice(MACHINES / 2)];
  const farms = [await withBmcs(t, one.map(bmcOf)), await withBmcs(t, other.map(bmcOf))];
  const folder = privateFolder(t);
  const written = await writeCase(messy(farms.flatMap((farm) => farm?.addresses ?? [])), folder);
  const { extract, ironic, plan } = written;
  const says = async (status: number, line: string, more: readonly string[] = []) => {
    const [command = "", ...words] = line.split(" ");
    const at = ["show", "explain"].includes(command) ? [] : ["--run", "run"];
    const ran = runIn(folder, leavingNova([command, ...words, ...at, ...more]));
    const { out, err } = await ends(status, ran);
    const lines = `${out}${err}`.trimEnd().split("\n");
    return { out, err, lines };
  };
  const aPage = async (...asked: Parameters<typeof says>) => {
    const said = await says(...asked);
    assert.ok(said.lines.length <= PAGE, `${asked[1]}: ${said.lines.length} lines\n${said.out}`);
    return said;
  };
  await aPage(0, "extract", extract);
  await aPage(3, "power");
  const made = await aPage(0, "plan", [...ironic, ...plan]);
  assert.match(made.out, /\n {2}! +142 blocked: .*\n {2}\+ +148 create: .*\n {2}- +10 skipped: /);
  assert.match(made.out, /^ {2}N2I-D601 blocks +18 {2}.*\n {4}a0\S+-0+06 {2}tenant-6 /m);
  assert.match(made.out, /\nPlan: 148 nodes, .*300 machines in total\.\n$/);
  assert.match(made.out, /^All: nova2ironic show run\/plan --all-rows$/m);
  const all = await says(0, "plan -v", [...ironic, ...plan]);
  assert.equal(all.out.match(/^ {2}[!+-] a0{7}-/gm)?.length, MACHINES);
  assert.match(all.err, /^Took: plan [\d.]+ s\.$/m);
  await aPage(2, "check --watch 1", [...extract.slice(0, 4), ...ironic]);
  await aPage(0, "show run/snapshot.jsonl");
  const { out: read } = await aPage(0, "show run/power.jsonl");
  assert.match(read, /^ +19 {2}wrong-password {2}RAKP 2 .*\n +a0+-\S+-0+06 {2}tenant-6 {2}/m);
  const { out: planned } = await aPage(0, "show run/plan");
  assert.match(planned, /^ +31 {2}blocked {2}N2I-D100 deployment in progress\n/m);
  assert.match(
    planned,
    /\n300 rows by .*\. --match .*\nAll: nova2ironic show run\/plan --all-rows\n$/,
  );
  const { out: found } = await says(0, "show run/plan --match Finding=D601 --match Host=compute-3");
  assert.deepEqual(
    found.match(/^\| +\d+ \| \S+ +\| \S+/gm)?.map((line) => line.replace(/ +\| \S+ +\|/, "")),
    [20, 62, 104, 230, 272].map((id) => `| ${String(id).padStart(5)} compute-3`),
  );
  const { out: rows } = await says(0, "show run/plan --match verdict=blocked -f value -c UUID");
  assert.equal(rows.trimEnd().split("\n").length, 142);
  const { err } = await says(64, "show run/plan --match Findng=D601");
  assert.match(err, /Did you mean Findings\? Choose from these columns: BM ID, /);
  await says(0, "show run/plan --all -q");
  await aPage(0, "explain");
  await aPage(0, "status");
  await aPage(0, "next");
  await aPage(0, "report");
  await aPage(0, "report --format md");
  await aPage(0, "config");
  const loaded = await aPage(3, "apply --yes --skip-blocked --leave-nova", ironic);
  assert.match(loaded.out, /^Left out: 142, by cause\.\n +65 {2}blocked: N2I-D227 /m);
  assert.match(loaded.out, /^All: nova2ironic show run\/plan --skipped$/m);
  const { out: skipped } = await says(0, "show run/plan --skipped -f value -c UUID");
  assert.equal(skipped.trimEnd().split("\n").length, 152);
  await says(64, "show run/snapshot --skipped");
  await aPage(0, "verify", ironic);
  await aPage(2, "verify --takeover", ironic);
  await aPage(0, "boot --plan", ["--tftp-root", folder]);
  const back = await aPage(0, "rollback --all --plan --leave-nova", ironic);
  assert.match(
    back.out,
    /^All: nova2ironic rollback --run run --all --leave-nova --plan --all-rows$/m,
  );
  await aPage(0, "finish --plan", ironic);
  await aPage(0, "rollback --all --yes --leave-nova", ironic);
  await aPage(0, "window show");
});
