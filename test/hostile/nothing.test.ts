import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { assertRefusal, run, runs } from "./cli.ts";
import { deployFiles, extractAndPlan } from "./deployment.ts";
import { SITE, SMALL } from "./fleet.ts";

/** How a command ends that has nothing to do or to compare. */
type End =
  /** It is a gate: equal would be true of nothing. */
  | { readonly refuses: "N2I-E320" | "N2I-E325" | "N2I-E326"; readonly words: readonly string[] }
  /** It has nothing to do, and says so. */
  | { readonly says: RegExp; readonly status: number; readonly words: readonly string[] }
  /** It compares nothing, ever. */
  | { readonly only: string };

test("no command ends well on a plan that loads no machine without saying that there was none", async (t) => {
  const skipped = { ...SITE, machines: [{ match: {}, skip: "none of them is to move" }] };
  const made = await deployFiles(t, { ...SMALL, site: skipped });
  const { at, source, reader, writer, novaWriter, folder, nova, ironic } = made;
  const nothing = join(folder, "tree");
  mkdirSync(nothing);
  await extractAndPlan(made, ...source.slice(2, 4));
  const boot = ["boot", ...at, "--tftp-root", nothing];
  const ends: { readonly [command: string]: readonly End[] } = {
    extract: [{ only: "reads; a source without machines is told with its count" }],
    plan: [{ only: "shows; verdicts are counted" }],
    show: [{ only: "shows what a file holds" }],
    report: [
      {
        status: 0,
        says: /Not ready: the plan loads no machine/,
        words: ["report", ...at, "--format", "md"],
      },
    ],
    config: [{ only: "compares settings, of which a release always has some" }],
    explain: [{ only: "shows" }],
    demo: [{ only: "has machines of its own" }],
    support: [{ only: "packs files" }],
    completion: [{ only: "shows" }],
    power: [{ only: "asks every machine of the snapshot: it knows no plan" }],
    check: [
      {
        ...{ status: 2, says: /The plan loads no machine/ },
        words: ["check", ...at, ...source.slice(0, 4), ...reader, "--watch", "0"],
      },
    ],
    rehearse: [{ refuses: "N2I-E325", words: ["rehearse", ...at, ...writer, "--yes"] }],
    apply: [
      { refuses: "N2I-E325", words: ["apply", ...at, ...writer, ...novaWriter, "--yes"] },
      {
        refuses: "N2I-E325",
        words: ["apply", ...at, ...writer, "--leave-nova", "--skip-blocked", "--yes"],
      },
    ],
    verify: [
      { refuses: "N2I-E326", words: ["verify", ...at, ...reader] },
      {
        refuses: "N2I-E326",
        words: ["verify", ...at, ...reader, ...source.slice(2, 4), "--final"],
      },
      { refuses: "N2I-E326", words: ["verify", ...at, ...reader, "--takeover"] },
    ],
    handover: [{ refuses: "N2I-E326", words: ["handover", ...at, ...writer, "--yes"] }],
    finish: [{ refuses: "N2I-E320", words: ["finish", ...at, ...writer, "--yes"] }],
    retire: [
      {
        refuses: "N2I-E326",
        words: ["retire", ...at, ...source.slice(0, 2), ...reader],
      },
    ],
    boot: [
      { refuses: "N2I-E326", words: [...boot, "--verify"] },
      { status: 0, says: /no machine has a tenant/, words: [...boot, "--yes"] },
      { status: 0, says: /nothing of this run is staged/, words: [...boot, "--undo", "--yes"] },
    ],
    rollback: [
      {
        ...{ status: 0, says: /this run has loaded nothing/ },
        words: ["rollback", ...at, ...writer, ...novaWriter, "--all", "--yes"],
      },
    ],
    next: [{ status: 0, says: /loads none of its/, words: ["next", ...at] }],
    run: [
      {
        ...{ status: 4, says: /N2I-E328 .*loads none of its/ },
        words: ["run", ...at, "--yes", "--wait", "0"],
      },
    ],
    host: [{ only: "moves machines of Nova, in runs of its own; one without machines is told" }],
    node: [{ only: "gives machines of Ironic a record, in runs of its own; it reads no plan" }],
    serve: [{ only: "serves what Ironic has; a list without nodes is one" }],
    window: [{ status: 0, says: /No window is open/, words: ["window", "close", ...at] }],
    status: [{ status: 0, says: /nothing was loaded/, words: ["status", ...at] }],
  };
  // A new command has its row here before it is believed.
  const { out } = await runs(0, ["--help"]);
  const commands = [...out.matchAll(/^ {2}\S*nova2ironic (\w+)/gm)].map(([, name]) => name ?? "");
  assert.deepEqual(
    commands.filter((name) => ends[name] === undefined),
    [],
    out,
  );

  const [specs, nodes] = [() => nova.db("instance_type_extra_specs"), () => ironic.db("nodes")];
  const before = JSON.stringify([await specs(), await nodes()]);
  for (const row of Object.values(ends).flat()) {
    if ("only" in row) continue;
    const ran = await run([...row.words, ...("refuses" in row ? ["-q"] : [])]);
    const told = `${row.words.join(" ")}\n${ran.out}${ran.err}`;
    if ("refuses" in row) assertRefusal({ ...ran, out: "" }, 4, row.refuses);
    else {
      assert.equal(ran.status, row.status, told);
      assert.match(`${ran.out}${ran.err}`, row.says, told);
    }
  }
  assert.equal(JSON.stringify([await specs(), await nodes()]), before);
});
