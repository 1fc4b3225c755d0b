import assert from "node:assert/strict";
import { appendFileSync, chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { caseUuid } from "../../cases/case.ts";
import { assertRefusal, ends, refused, run, runs, start } from "../../hostile/cli.ts";
import { runHere } from "../../support/in-process.ts";
import { placementDatabase } from "./placement.ts";
import { type PlannedCloud, plannedCloud } from "./planned.ts";
import { computeStarts, conductorsStart, isRefused, planned, walk } from "./walking.ts";

test("verify with nova counts what it compared, and fails on a cloud that lost every hypervisor", async (t) => {
  const made = await plannedCloud("sqlite", t, []);
  const { act, at, folder, nova, ironic, reader, source } = made;
  await ends(0, act(["apply"]));
  const words = ["verify", ...at, ...reader, ...source.slice(2, 4), "-q"];
  const computes = nova.db("compute_nodes");
  const now = () => new Date().toISOString().slice(0, 19).replace("T", " ");

  const before = await runs(0, words.slice(0, -1));
  assert.match(
    before.err,
    /0 rows in the plan, 4 machines, 4 instances, 0 hypervisors compared; 0/,
  );
  assert.match(
    before.err,
    /^4 machines have no compute node in Nova, .*\nNext: \S+ verify .*--final$/m,
  );
  const said = await ends(2, run([...words, "--final", "-f", "csv"]));
  assert.equal(said.out.match(/no live compute node .*no nova-compute service/g)?.length, 4);
  assert.match(said.err, /^4 machines have .* Start nova-compute /m);
  assert.equal(said.out.match(/^"node".*"power_state"/gm)?.length, 4, said.out);

  // An earlier plan of the run deleted them in the second in which this one was made.
  const [, made_at = ""] =
    /"made_at": ?"([^"]{19})/.exec(readFileSync(join(at[1] ?? "", "plan", "plan.json"), "utf8")) ??
    [];
  const deleted = { deleted: nova.db.ref("id"), deleted_at: made_at.replace("T", " ") };
  await computes.clone().update(deleted);
  await runs(0, words);
  // A nova-compute met an empty Ironic: as measured, it soft-deletes all of them.
  await computes.clone().update({ deleted: nova.db.ref("id"), deleted_at: "2099-01-01 00:00:00" });
  const lost = await ends(2, run(words));
  assert.equal(lost.out.match(/was deleted since the plan/g)?.length, 4, lost.out);
  await computes.clone().del().whereIn("id", [1, 2]);
  // Before Liberty whoever disables a service changes the only time it has.
  await nova.db("services").update({ updated_at: now(), disabled: true });
  const disabled = await run(words);
  assert.doesNotMatch(disabled.out, /has reported since/);
  const gone = await ends(2, run([...words, "--final"]));
  assert.equal(gone.out.match(/no live .*no nova-compute service/g)?.length, 4, gone.out);
  await made.copy("kept");
  words.push("--final");

  // It runs and has them all, and each has its power.
  await computeStarts(made);
  const whole = await runs(0, words);
  assert.match(whole.err, /4 machines, 4 instances, 4 hypervisors compared; 0 mismatched\.$/m);
  await computeLogs(join(folder, "nova-compute.log"), words);
  await ironic
    .db("nodes")
    .where({ uuid: caseUuid("node", 2) })
    .update({ last_error: "no route" });
  assert.match((await runs(2, words)).out, /node .*000002 .*last_error/);
  await ironic.db("nodes").update({ last_error: null });

  // A tenant deleted its server, and another one got the machine: nobody did anything wrong.
  const [second, old] = [caseUuid("node", 2), caseUuid("instance", 2)];
  const next = { id: 900, uuid: caseUuid("instance", 900) };
  const [given] = await nova.db("instances").where({ uuid: old });
  await nova.db("instances").where({ uuid: old }).update({ deleted: given.id });
  await nova.db("instances").insert({ ...given, ...next });
  const node = () => ironic.db("nodes").where({ uuid: second });
  await node().update({
    ...{ instance_uuid: next.uuid, instance_info: '{"image_source": "another"}' },
    provision_updated_at: "2099-01-01 00:00:00",
  });
  const used = await runs(0, words);
  assert.match(used.err, /0 mismatched, .* 1 changed by use since the hand-over/);
  assert.match((await runs(0, [...words, "--all-rows"])).out, /node .*000002 .* used /);
  // Nova frees it: for a moment both are there, and the row says what to do.
  const again = /instance .*: refers to this node, .* Wait a minute, then run verify again/;
  const [left] = await nova.db("instances").where({ uuid: old });
  await nova.db("instances").where({ uuid: old }).update({ deleted: 0, task_state: "deleting" });
  assert.match((await runs(2, words)).out, again);
  await nova.db("instances").where({ uuid: old }).update({ task_state: null });
  const stays = (await runs(2, words)).out;
  assert.match(stays, /refers to this node/);
  assert.doesNotMatch(stays, /Wait a minute/);
  await nova.db("instances").where({ uuid: old }).update(left);
  await node().update({ provision_state: "available", instance_uuid: old });
  assert.match((await runs(2, words)).out, /node .*000002 .*mismatched .*Wait a minute/);
  await node().update({ provision_state: "active", instance_uuid: next.uuid });
  await nova.db("instances").where({ id: 900 }).update({ host: "elsewhere" });
  assert.match((await runs(2, words)).out, /instance .*000900: host is "elsewhere"/);
  await nova.db("instances").where({ id: 900 }).update({ host: given.host });
  // In use and nobody's is nobody's use.
  await node().update({ instance_uuid: null });
  assert.match((await runs(2, words)).out, /node .*000002 .*mismatched .*instance_uuid/);
  await node().update({ instance_uuid: next.uuid });

  const { db: placement, url } = await placementDatabase(t);
  const all = [...words, "--placement-db", url];
  const none = await runs(2, all);
  assert.equal(none.out.match(/no resource provider in Placement/g)?.length, 4, none.out);
  for (const id of [1, 2, 3, 4])
    await placement("resource_providers").insert({
      ...{ id, uuid: caseUuid("node", id), name: caseUuid("node", id) },
    });
  const bare = await runs(2, all);
  assert.equal(
    bare.out.match(
      /has no allocation. To create it: stop .*inventory set [0-9a-f-]{36} .* heal_allocations/g,
    )?.length,
    3,
    bare.out,
  );
  const places = [...made.source.slice(2, 4), ...all.slice(-2)];
  const status = await runs(0, ["status", ...made.at, ...places]);
  assert.match(status.out, /3 live instances have none: .* heal_allocations; start nova-compute/);
  for (const id of [1, 2, 3, 4])
    await placement("allocations").insert({
      ...{ consumer_id: caseUuid("instance", id), resource_provider_id: id, used: 1 },
    });
  assert.match((await runs(0, all)).err, /4 hypervisors, 4 resource providers compared; 0/);
});

/** What `verify --final` makes of a nova-compute's log, where all else is well. */
async function computeLogs(log: string, words: readonly string[]): Promise<void> {
  const AT = "2023-05-01 10:00:00.1 77";
  const started = `${AT} INFO nova.virt.driver [-] Loading compute driver 'ironic.IronicDriver'`;
  const asked = [...words, "--compute-log", log];
  writeFileSync(log, `${AT} ERROR nova.a [-] of yesterday\n${started}\n`);
  const well = await runs(0, asked);
  assert.match(
    well.err,
    /^nova-compute: started with the ironic driver and without errors since, according to 1/m,
  );
  const bad = "Error contacting Ironic server for 'node.list'. password=hunter2";
  appendFileSync(log, `${AT} WARNING nova.b [-] ${bad}\n`);
  const told = await runs(2, asked);
  assert.match(told.out, /nova-compute\.log:3 .*Error contacting Ironic.* password=\*\*\*/);
  assert.match(told.err, /^nova-compute: 1 fault in 1 log since its start/m);
  // Seen; the start before it counts all the same.
  await runs(0, [...asked.slice(0, -1), `${log}:4`]);
  writeFileSync(log, `${AT} INFO nova.a [-] fine\n`);
  assert.match((await runs(2, asked)).out, /no nova-compute start/);
}

function recordOf({ run: folder }: PlannedCloud): readonly string[] {
  const text = readFileSync(join(folder, "window.jsonl"), "utf8").split("\n").filter(Boolean);
  return text.map((line) => {
    const { do: what, stage, result } = JSON.parse(line) as { [key: string]: string };
    return [what, stage, result].filter(Boolean).join(" ");
  });
}

test("a run goes to its end over every stop, and says at each what a person does", async (t) => {
  const made = await planned(t);
  assert.match((await runs(0, ["next", ...made.at])).out, /nova2ironic apply --run .*first write/s);
  // Up to a stage, nothing behind it is begun.
  const looked = await walk(made, "--until", "check");
  assert.match(looked.out, /^\d+ checks: 0 failed, /m);
  assert.doesNotMatch(looked.out, /Result: Success/);
  assert.match(looked.err, /Stopped before apply, as --until requests\.\nNext: nova2ironic run /);
  assert.equal((await made.ironic.db("nodes")).length, 0);
  // Without a terminal, and without --yes, it ends before the window opens.
  const walked = ["run", ...made.at, "--wait", "0", "--watch", "0"];
  isRefused(await run(walked), /there is no terminal/, "N2I-E303");
  assert.equal(recordOf(made).includes("open"), false);
  const loaded = await walk(made);
  isRefused(loaded, /ironic-conductor/);
  assert.equal((await made.ironic.db("nodes")).length, 4);
  await conductorsStart(made);
  const taken = await walk(made);
  isRefused(taken, /new nova-compute/);
  await computeStarts(made);
  const done = await ends(0, walk(made));
  // A stage of a run leaves it to the run what comes next, and files are named once.
  for (const { err } of [loaded, taken, done]) {
    assert.doesNotMatch(err, /^(Next|then|Undo): /m);
    assert.equal(err.match(/^Connections: /gm)?.length, 1, err);
  }
  assert.match(done.err, /^The window is closed\.\nThe run is done\.$/m);
  assert.equal(`${done.out}${done.err}`.match(/run is done/g)?.length, 1);
  assert.deepEqual(
    recordOf(made).filter((line) => !/^begin| N2I-/.test(line)),
    [
      // Warnings of check stop nothing.
      ...["end check exit 1", "open", "end check exit 1", "end apply done", "end verify done"],
      ...["end takeover done", "end final done", "end finish done", "close"],
    ],
  );
  // Nothing is left to do, and a run that is run again does nothing.
  await ends(0, walk(made));
  const next = (await runs(0, ["next", ...made.at, "-f", "json"])).out;
  assert.match(next, /this run is done/);
  assert.match(next, /"undo": "nova2ironic window open --run \S+, then rollback --after-finish/);
});

test("errors in the logs of services that did their work are accepted once, and the run goes on", async (t) => {
  const made = await planned(t);
  const [conductor, compute] = [
    join(made.folder, "conductor.log"),
    join(made.folder, "compute.log"),
  ];
  const at = "2014-12-01 00:00:00.000 1";
  writeFileSync(conductor, `${at} ERROR ironic.conductor.manager [-] no such node\n`);
  writeFileSync(
    compute,
    `${at} INFO nova.service [-] Starting compute node (version 2014.2)\n${at} ERROR nova.compute.manager [-] no such server\n`,
  );
  isRefused(await walk(made), /ironic-conductor/);
  const logs = { conductor_log: [conductor], compute_log: [compute] };
  const lines = Object.entries(logs).map(([name, log]) => `${name}: ${JSON.stringify(log)}\n`);
  appendFileSync(join(made.run, "connections.yaml"), lines.join(""));
  await conductorsStart(made);
  isRefused(await walk(made), /new nova-compute/);
  await computeStarts(made);
  await made.ironic.db("nodes").where({ id: 1 }).update({ power_state: null });
  isRefused(
    await walk(made),
    /not read the power of 1 machine yet; if .* with nova2ironic finish /,
  );
  await made.ironic.db("nodes").update({ power_state: "power on" });
  await ends(0, walk(made));
  assert.deepEqual(
    recordOf(made).filter((line) => /^(accept|end (takeover|final))/.test(line)),
    [
      ...["end takeover N2I-E328", "accept takeover the conductor logs contain 1 error"],
      ...["end takeover done", "end final N2I-E328", "end final N2I-E328"],
      "accept final nova-compute logs have 1 fault",
      "end final done",
    ],
  );
});

test("where nova-compute of nova-baremetal runs, nothing is written until it is seen stopped", async (t) => {
  const made = await planned(t);
  const now = new Date().toISOString().slice(0, 19).replace("T", " ");
  await made.nova.db("services").update({ updated_at: now });
  // Days before, check is walked without a window and without anybody stopped: that services run is a row of it.
  const early = await walk(made, "--until", "check");
  assert.match(early.out, /Check: nova-compute stopped/);
  assert.doesNotMatch(early.err, /Waiting: stop nova-compute|Window: open/);
  assert.deepEqual(
    recordOf(made).filter((line) => line.startsWith("open")),
    [],
  );
  const ran = await walk(made);
  isRefused(ran, /stop nova-compute on /);
  assert.equal((await made.ironic.db("nodes")).length, 0);
});

test("a failing check ends a run with its own status, and a plan that is a decision is nobody's but a person's", async (t) => {
  const made = await planned(t);
  await made.bm.db("bm_nodes").where({ id: 1 }).update({ task_state: "deploying" });
  const ran = await ends(2, walk(made));
  assert.match(ran.err, /The run stops at check \(exit 2\)/);
  await made.act(["apply"]);
  await made.act(["rollback", "--all"]);
  const next = (await runs(0, ["next", ...made.at, "-f", "json"])).out;
  assert.match(next, /"why": "rolled back; or resume rollback\. /);
  assert.match(next, /"takes": "[^"]*\(measured [^)]*\(the run.s log\)\)"/);
  const back = await walk(made);
  isRefused(back, /rolled back/);
});

test("what was loaded of an earlier plan is no word for a new one: it is checked and asked for", async (t) => {
  const made = await planned(t);
  await ends(0, made.act(["apply"]));
  const [, ...source] = made.source;
  assert.ok(source.length > 0);
  await runs(0, ["plan", ...made.at, "--allow-other-nodes"]);
  const { out } = await runs(0, ["next", ...made.at]);
  assert.match(out, /nova2ironic apply --run/);
  assert.doesNotMatch(out, /--yes/);
});

test("hooks run before and after a stage; one that fails, hangs or is others' stops the run", async (t) => {
  const made = await planned(t);
  const hooks = join(made.run, "hooks");
  mkdirSync(hooks, { mode: 0o700 });
  const hook = (name: string, text: string, mode = 0o700): void => {
    writeFileSync(join(hooks, name), `#!/bin/sh\n${text}\n`);
    chmodSync(join(hooks, name), mode);
  };
  // A folder with a hook alone is not a run yet, and begins with extract.
  const fresh = join(made.folder, "fresh");
  mkdirSync(join(fresh, "hooks"), { recursive: true, mode: 0o700 });
  writeFileSync(join(fresh, "hooks", "before-extract"), "#!/bin/sh\nexit 7\n", { mode: 0o700 });
  const begun = await walk({ ...made, at: ["--run", fresh] }, "--rate", "5");
  isRefused(begun, /hooks\/before-extract ended with 7/, "N2I-E329");
  const until = ["--until", "check"];
  hook("before-check", 'echo "at $NOVA2IRONIC_STAGE"; test "$NOVA2IRONIC_RUN" && env | wc -l');
  hook("after-check", "echo it is done; set -x; : mysqldump -u root -phunter2 nova");
  await walk(made, ...until);
  const log = readFileSync(join(made.run, "log.jsonl"), "utf8");
  assert.match(log, /Hook hooks\/before-check: at check/);
  assert.match(log, /Hook hooks\/after-check: it is done/);
  assert.match(log, /mysqldump -u root -p\*\*\* nova/);
  assert.doesNotMatch(log, /hunter2/);
  for (const [text, mode, why] of [
    ["exit 3", 0o700, /hooks\/before-check ended with 3/],
    ["sleep 30", 0o700, /took longer than 0\.01 s/],
    ["true", 0o770, /is writable by other users/],
  ] as const) {
    hook("before-check", text, mode);
    const ran = await walk(made, ...until, "--hook-timeout", text === "sleep 30" ? "0.01" : "500");
    isRefused(ran, why, "N2I-E329");
  }
  hook("before-check", "true", 0o600);
  assert.match((await walk(made, ...until)).err, /ERROR N2I-E400 .*before-check/);
  hook("before-check", "exit 0");
  hook("after-check", "exit 1");
  const ran = await walk(made);
  isRefused(ran, /after-check/, "N2I-E329");
  assert.equal((await made.ironic.db("nodes")).length, 0);
});

test("while the pause file exists no stage begins", async (t) => {
  const made = await planned(t);
  const file = join(made.folder, "pause");
  writeFileSync(file, "");
  const words = ["run", ...made.at, "--yes", "--until", "check", "--watch", "0"];
  words.push("--pause-file", file);
  const waiting = start(words);
  await waiting.said("Paused: ");
  waiting.signal("SIGTERM");
  await ends(143, waiting.ended);
  assert.throws(() => readFileSync(join(made.run, "window.jsonl")), /ENOENT/);
  const heard = (err: string): void => {
    if (err.includes("(10 min)")) rmSync(file, { force: true });
  };
  const ran = await ends(0, runHere(words, {}, { heard }));
  const said = ran.err.match(/^Paused.*$/gm) ?? [];
  const since = /^Paused since 20\S+Z \((5|10) min\): \S+pause exists\. Remove it to continue\.$/;
  assert.deepEqual(
    said.map((line) => since.exec(line)?.[1] ?? line),
    [`Paused: ${file} exists. Remove it to continue.`, "5", "10"],
  );
  assert.match(ran.err, /Stopped before apply/);
});

test("whoever declared a window writes within it, or says why not; the record has both", async (t) => {
  const made = await planned(t);
  const { at } = made;
  const shown = async () => (await runs(0, ["window", "show", ...at, "-f", "csv"])).out;
  // A run that never had one goes without, and the record says so.
  await ends(0, made.act(["apply"]));
  assert.match(await shown(), /"apply",.*"no window was declared"/);
  assert.match((await runs(0, ["window", "open", ...at])).out, /The window is open since/);
  assert.match((await runs(0, ["window", "open", ...at])).out, /The window is open since/);
  await runs(0, ["window", "close", ...at]);
  const late = await made.act(["rollback", "--all"]);
  assertRefusal({ ...late, out: "" }, 4, "N2I-E327", /rollback writes/);
  // Nobody is asked first.
  const unasked = [...at, ...made.writer, ...made.novaWriter, "-q"];
  await refused(["rollback", ...unasked, "--all"], 4, "N2I-E327", [/rollback writes/]);
  await refused(["apply", ...unasked], 4, "N2I-E327", [/apply writes/]);
  await refused(["finish", ...at, ...made.writer, "-q"], 4, "N2I-E327", [/finish writes/]);
  assert.equal((await made.ironic.db("nodes")).length, 4);
  // What only shows is nobody's window.
  await runs(0, ["rollback", ...at, "--all", "--plan", "-q"]);
  await ends(0, made.act(["rollback", "--all", "--no-window", "ticket 7"]));
  assert.match(await shown(), /"rollback",.*"ticket 7"/);
});
