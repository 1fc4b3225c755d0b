import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { writeCase } from "../../src/demo/write-case.ts";
import { refused, runs } from "../hostile/cli.ts";
import { privateFolder } from "../hostile/deployment.ts";
import { SMALL } from "../hostile/fleet.ts";

test("every nova.conf and every column that is named counts, not only the last", async (t) => {
  const folder = privateFolder(t);
  const { extract } = await writeCase(SMALL, join(folder, "case"));
  const confs = ["compute-7", "compute-8"].map((host) => {
    const path = join(folder, `${host}.conf`);
    writeFileSync(path, "[baremetal]\n", { mode: 0o600 });
    return `${host}=${path}`;
  });
  const run = join(folder, "run");
  const named = confs.flatMap((conf) => ["--nova-conf", conf]);
  await runs(0, ["extract", "--run", run, ...extract, ...named]);
  const header = readFileSync(join(run, "snapshot.jsonl"), "utf8").split("\n")[0] ?? "";
  for (const host of ["compute-7", "compute-8"]) assert.match(header, new RegExp(`"${host}"`));
  const columns = ["-c", "UUID", "-c", "BM ID", "--sort-column", "CPUs", "--sort-column", "BM ID"];
  const { out } = await runs(0, ["show", join(run, "snapshot.jsonl"), "-f", "csv", ...columns]);
  assert.match(out, /^"UUID","BM ID"\r?\n/);
});

test("an option that takes one value is refused when it is given twice", async () => {
  const words = ["status", "--run", "one", "--run", "two"];
  await refused(words, 64, "N2I-E100", [/--run is given more than once/]);
});
