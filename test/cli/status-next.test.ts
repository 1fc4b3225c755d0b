import assert from "node:assert/strict";
import { test } from "node:test";
import type { Entry } from "../../src/model/journal.ts";
import type { NovaIdentity } from "../../src/model/nova/nova-plan.ts";
import type { RunFiles } from "../../src/run/files/run-files.ts";
import { type Given, givenOf, withGiven } from "../../src/run/given.ts";
import type { NextCommand } from "../../src/run/next.ts";
import { statusOf } from "../../src/window/runner/run-state.ts";
import { read } from "../support/command-line.ts";
import { COUNTS, SHA, SNAPSHOT } from "../support/run-files.ts";

const RUN = "a run's folder";
const KEY = "--key-file '/root/a key'";
const NOVA = "--nova-db file:/root/nova.url";
const SITE = "--site /root/site.yaml";

/** What an operator ran, in this order; a stage of the table knows of so many of them. */
const HISTORY: readonly (readonly [NextCommand, string])[] = [
  [
    "extract",
    `--nova-bm-db conf:/etc/nova/nova.conf ${NOVA} --nova-conf c1=/root/c1.conf --nova-conf c2=/root/c2.conf ${KEY}`,
  ],
  ["power", `${SITE} --ironic-release 2023.1 --rate 7 --only failed ${KEY}`],
  [
    "plan",
    `--ironic-db conf:/etc/ironic/ironic.conf ${NOVA} --nova-api-db env:API --compute-host c1=i1 --compute-host 'group:a b=i2' --deploy-kernel name:k --deploy-ramdisk name:r --placement-db file:/root/placement.url --allow-pairing --beside-others --max-unreachable 2 ${SITE} ${KEY} --os-cloud admin --detailed-exitcode`,
  ],
  [
    "apply",
    `--ironic-db file:/root/ironic.url ${NOVA} --nova-api-db env:API --skip-blocked --staged --power-max-age 9 --allow-running-compute --yes ${KEY}`,
  ],
  [
    "handover",
    "--ironic-db file:/root/ironic.url --per-minute 3 --node u1 --conductor-log /v/c.log",
  ],
];

/** What the commands of the run so far were given, as they record it. */
async function given(commands: number): Promise<readonly Given[]> {
  let known: readonly Given[] = [];
  for (const [command, words] of HISTORY.slice(0, commands)) {
    const args = await read(command, `nova2ironic ${command} --run m1 ${words}`);
    known = withGiven(
      known,
      givenOf(command, args, (_, word) => word),
    );
  }
  return known;
}

const SPAN = { part: "ironic", plan: SHA, from: 0, to: 2, at: "2026-11-21T00:00:00Z" } as const;
const BEGIN: Entry = { do: "begin", ...SPAN, by: "root@host", staged: true };
const DONE: Entry = { do: "done", ...SPAN, created: 4, found: [] };
const UNDO: Entry = { do: "undo", ...SPAN, nodes: "all", by: "root@host" };
const UNDONE: Entry = {
  ...{ do: "undone", ...SPAN, removed: 4, gone: 0, settled: [], conflicts: [] },
};
const JOURNAL = { journal: { entries: [BEGIN, DONE], torn: false } };
const NONE = { missing: "N2I-E110 there is none" };
const PLAN: RunFiles["plan"] = {
  counts: COUNTS,
  ...{ sha256: SHA, madeFrom: "b".repeat(64), release: "2023.1" },
};
const STEPS = { hosts: 1, flavors: 0, findings: 0, stopped: [] };
const API = {} as NovaIdentity; // only looked at for its presence
const BESIDE: NonNullable<RunFiles["nova"]> = {
  plan: { sha256: SHA, counts: STEPS, header: { api: API } },
  entries: [],
};

/** A stage: how many commands ran, what the run's files are then, and the words of the next line. */
const STAGES: readonly (readonly [string, number, Partial<RunFiles>, string])[] = [
  ["extract was killed", 1, { snapshot: NONE, plan: NONE }, `extract ${HISTORY[0]?.[1]}`],
  ["extracted", 1, { plan: NONE }, `power ${KEY}`],
  [
    "asked",
    2,
    { plan: NONE },
    `plan --ironic-db DB ${NOVA} ${SITE} --ironic-release 2023.1 ${KEY}`,
  ],
  [
    "plan was killed",
    3,
    { plan: NONE },
    `plan ${without(HISTORY[2]?.[1], "--placement-db file:/root/placement.url", "--detailed-exitcode")} --ironic-release 2023.1`,
  ],
  [
    "planned",
    3,
    {},
    `apply --ironic-db conf:/etc/ironic/ironic.conf ${NOVA} --nova-api-db env:API ${KEY}`,
  ],
  [
    "apply was killed before it began",
    4,
    {},
    `apply ${without(HISTORY[3]?.[1], "--allow-running-compute", "--yes")}`,
  ],
  [
    "apply was killed midway",
    4,
    { journal: { entries: [BEGIN], torn: true } },
    `apply ${without(HISTORY[3]?.[1], "--allow-running-compute")}`,
  ],
  [
    "loaded, staged",
    4,
    {
      ...JOURNAL,
      handover: { staged: 2, released: 0, takeOvers: 2 },
      compared: true,
    },
    "handover --ironic-db file:/root/ironic.url",
  ],
  [
    "release was killed",
    5,
    {
      ...JOURNAL,
      handover: { staged: 2, released: 1, takeOvers: 1 },
    },
    "handover --ironic-db file:/root/ironic.url --per-minute 3 --conductor-log /v/c.log",
  ],
  [
    "released",
    5,
    {
      ...JOURNAL,
      handover: { staged: 2, released: 2, takeOvers: 0 },
    },
    `verify --ironic-db file:/root/ironic.url --conductor-log /v/c.log --takeover ${KEY}`,
  ],
  [
    "loaded",
    4,
    JOURNAL,
    `verify --ironic-db file:/root/ironic.url ${NOVA} --nova-api-db env:API --placement-db file:/root/placement.url ${KEY}`,
  ],
  [
    "its journal is spoilt",
    5,
    { journal: NONE },
    `verify --ironic-db file:/root/ironic.url ${NOVA} --nova-api-db env:API --placement-db file:/root/placement.url ${KEY}`,
  ],
  [
    "rolled back",
    4,
    { journal: { entries: [BEGIN, DONE, UNDO, UNDONE], torn: false } },
    `plan ${without(HISTORY[2]?.[1], "--placement-db file:/root/placement.url", "--detailed-exitcode")} --ironic-release 2023.1`,
  ],
  [
    "rolled back without Nova",
    4,
    {
      journal: { entries: [BEGIN, DONE, UNDO, UNDONE], torn: false },
      nova: { plan: null, entries: [], still: { rows: 7, machines: "all", api: API } },
    },
    `rollback --ironic-db file:/root/ironic.url ${NOVA} --nova-api-db env:API --all ${KEY}`,
  ],
];

function without(words = "", ...gone: readonly string[]): string {
  return gone.reduce((left, one) => left.replace(one, ""), words);
}

/** The options that were read, without what is so anyway. */
async function optionsOf(line: string): Promise<object> {
  const [, name = ""] = /^nova2ironic (\w+)/.exec(line) ?? [];
  const command = name as NextCommand; // read says so
  const { _, $0, run, ...options } = await read(command, line);
  assert.equal(run, RUN, line);
  return { command, ...options };
}

test("the line about finish says where Ironic is, and a run over REST stays there", async () => {
  const plan: Given = { command: "plan", options: { "os-cloud": "a b", "os-cacert": "/ca" } };
  const finish = { end: null, guards: true } as const;
  const line = (earlier: readonly Given[]) =>
    statusOf({
      ...{ snapshot: SNAPSHOT, plan: PLAN, handover: null, finish },
      ...JOURNAL,
      said: { site: null, asked: true, allowPairing: false, given: { run: RUN }, earlier },
    }).next;
  const [verify = "", last = ""] = line([plan]).split("  # where it finds nothing: ");
  const place = { osCloud: "a b", osCacert: "/ca" };
  for (const one of [verify, last]) {
    const { osCloud, osCacert } = { osCloud: "", osCacert: "", ...(await optionsOf(one)) };
    assert.deepEqual({ osCloud, osCacert }, place);
  }
  // A later way to Ironic leaves nothing of the one before.
  const apply: Given = { command: "apply", options: { "ironic-db": "file:x" } };
  assert.match(line([plan, apply]), /finish --run \S+ \S+ \S+ --ironic-db file:x$/);
});

test("nothing secret and nothing that is so anyway is kept of a command line", () => {
  const { options } = givenOf(
    "apply",
    {
      ...{
        run: "m1",
        novaDb: "file:n",
        novaApiDb: "mysql://u:pw@h/api",
        dbTimeout: 120,
        watch: 20,
      },
      ...{ ironicUrl: "https://h/?password=pw", ironicDb: "mysql://u@h/ironic", staged: false },
      ...{ yes: true, node: ["u1"], leaveNova: true, allowRunningCompute: true, lockWait: 7 },
      ...{ computeHost: ["a=b", "mysql://u:pw@h"], $0: "x", _: ["apply"] },
    },
    (option, word) => `${option}/${word}`,
  );
  assert.deepEqual(options, {
    ...{ "ironic-db": "ironic-db/mysql://u@h/ironic", "nova-db": "nova-db/file:n" },
    "lock-wait": 7,
  });
});

for (const [stage, commands, files, words] of STAGES)
  test(`status names the next command with all that was given to it: ${stage}`, async () => {
    const { next } = statusOf({
      ...{ snapshot: SNAPSHOT, plan: PLAN, nova: BESIDE, handover: null },
      ...{ journal: { entries: [], torn: false } },
      said: {
        ...{ site: commands > 1 ? "/root/site.yaml" : null, asked: commands > 1 },
        ...{ allowPairing: commands > 2, sealedElsewhere: true, given: { run: RUN } },
        earlier: await given(commands),
        release: commands > 1 ? "2023.1" : undefined,
      },
      ...files,
    });
    const [command, ...rest] = words.split(" ");
    const wanted = `nova2ironic ${command} --run 'a run'\\''s folder' ${rest.join(" ")}`;
    assert.deepEqual(
      await optionsOf(without(next, / {2}# .*$/.exec(next)?.[0] ?? "")),
      await optionsOf(`${wanted}${/goes on/.test(next) && !/--yes/.test(wanted) ? " --yes" : ""}`),
      next,
    );
  });
