import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { assertRefusal, run, runs } from "./cli.ts";
import { deployFiles, extractAndPlan } from "./deployment.ts";
import { SITE, SMALL } from "./fleet.ts";

/**
 * How a command ends that has nothing to do or to compare: text is why it compares nothing, ever; as a gate it
 * refuses with the code, since equal would be true of nothing; or it ends with the status and says so.
 */
type End =
  | string
  | readonly [refuses: "N2I-E320" | "N2I-E325" | "N2I-E326", words: readonly string[]]
  | readonly [status: number, says: RegExp, words: readonly string[]];

test("no command ends well on a plan that loads no machine without saying that there was none", async (t) => {
  const skipped = { ...SITE, machines: [{ match: {}, skip: "none of them is to move" }] };
  const made = await deployFiles(t, { ...SMALL, site: skipped });
  const { at, source, reader, writer, novaWriter, folder, nova, ironic } = made;
  const nothing = join(folder, "tree");
  mkdirSync(nothing);
  await extractAndPlan(made, ...source.slice(2, 4));
  const boot = ["boot", ...at, "--tftp-root", nothing];
  const on = (command: string, ...more: readonly string[]) => [command, ...at, ...more];
  const checking = on("check", ...source.slice(0, 4), ...reader, "--watch", "0");
  const left = ["--leave-nova", "--skip-blocked", "--yes"];
  const ends: { readonly [command: string]: readonly End[] } = {
    extract: ["reads; a source without machines is told with its count"],
    plan: ["shows; verdicts are counted"],
    show: ["shows what a file holds"],
    report: [[0, /Not ready: the plan loads no machine/, on("report", "--format", "md")]],
    config: ["compares settings, of which a release always has some"],
    explain: ["shows"],
    demo: ["has machines of its own"],
    support: ["packs files"],
    completion: ["shows"],
    power: ["asks every machine of the snapshot: it knows no plan"],
    check: [[2, /The plan loads no machine/, checking]],
    rehearse: [["N2I-E325", on("rehearse", ...writer, "--yes")]],
    apply: [
      ["N2I-E325", on("apply", ...writer, ...novaWriter, "--yes")],
      ["N2I-E325", on("apply", ...writer, ...left)],
    ],
    verify: [
      ["N2I-E326", on("verify", ...reader)],
      ["N2I-E326", on("verify", ...reader, ...source.slice(2, 4), "--final")],
      ["N2I-E326", on("verify", ...reader, "--takeover")],
    ],
    handover: [["N2I-E326", on("handover", ...writer, "--yes")]],
    finish: [["N2I-E320", on("finish", ...writer, "--yes")]],
    retire: [["N2I-E326", on("retire", ...source.slice(0, 2), ...reader)]],
    boot: [
      ["N2I-E326", [...boot, "--verify"]],
      [0, /no machine has a tenant/, [...boot, "--yes"]],
      [0, /nothing of this run is staged/, [...boot, "--undo", "--yes"]],
    ],
    rollback: [
      [
        0,
        /this run has loaded nothing/,
        on("rollback", ...writer, ...novaWriter, "--all", "--yes"),
      ],
    ],
    next: [[0, /loads none of its/, on("next")]],
    run: [[4, /N2I-E328 .*loads none of its/, on("run", "--yes", "--wait", "0")]],
    host: ["moves machines of Nova, in runs of its own; one without machines is told"],
    node: ["gives machines of Ironic a record, in runs of its own; it reads no plan"],
    serve: ["serves what Ironic has; a list without nodes is one"],
    window: [[0, /No window is open/, ["window", "close", ...at]]],
    status: [[0, /nothing was loaded/, on("status")]],
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
    if (typeof row === "string") continue;
    if (row.length === 2) {
      const [code, words] = row;
      assertRefusal({ ...(await run([...words, "-q"])), out: "" }, 4, code);
      continue;
    }
    const [status, says, words] = row;
    const ran = await runs(status, words);
    assert.match(`${ran.out}${ran.err}`, says, words.join(" "));
  }
  assert.equal(JSON.stringify([await specs(), await nodes()]), before);
});
