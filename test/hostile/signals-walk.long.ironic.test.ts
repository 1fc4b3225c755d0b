import assert from "node:assert/strict";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { type RunStage, STAGES } from "../../src/run/stages.ts";
import type { Case } from "../cases/case.ts";
import { withBmcs } from "../lab/bmc/with-farm.ts";
import { cloud } from "../migrate/nova/cloud.ts";
import { rowsOf } from "../migrate/nova/rows.ts";
import { computeStarts } from "../migrate/nova/walking.ts";
import { start } from "./cli.ts";
import { type Deployment, deployFiles } from "./deployment.ts";
import { SITE } from "./fleet.ts";

const STATUS = { SIGINT: 130, SIGHUP: 143 } as const;
const BOTH = ["SIGINT", "SIGHUP"] as const;
/** Where nothing is written one of them tells as much as both. */
const SIGNALS: { readonly [stage in RunStage]?: readonly (keyof typeof STATUS)[] } = {
  ...{ extract: ["SIGINT"], power: ["SIGHUP"], plan: ["SIGINT"], check: ["SIGHUP"] },
  ...{ takeover: ["SIGINT"], final: ["SIGHUP"] },
};

const ROOT = { match: {}, set: { root_uuid: "c0000000-0000-4000-8000-000000000001" } };

/** What the new nova-compute may not exist yet for, and who decides nothing of hosts. */
const LEFT = { match: {}, accept: [{ finding: "N2I-D227", reason: "hosts are not looked at" }] };

test("a night that Ctrl-C and a lost terminal end in every stage goes on, and loses nothing", async (t) => {
  const power = { users: [{ name: "admin", password: "bmc-secret" }], power: true };
  const farm = await withBmcs(t, [power, power, power, power], "port 623");
  const [whole, cut] = [await deployed(t, farm.addresses), await deployed(t, farm.addresses)];
  const [conducting, conducted] = [conductors(whole), conductors(cut)];
  t.after(() => Promise.all([conducting(), conducted()]));
  const night = await walking(whole, "--until", "takeover").ended;
  assert.equal(night.status, 0, night.err);
  const cuts: string[] = [];
  // After apply nothing is left to verify.
  for (const stage of STAGES.filter((one) => one !== "verify")) {
    if (stage === "finish") await Promise.all([computeStarts(whole), computeStarts(cut)]);
    for (const signal of SIGNALS[stage] ?? BOTH) {
      const ended = await signalled(cut, stage, signal);
      const reported = `${stage} ${signal}: ${ended.status}\n${ended.err}`;
      assert.ok([0, STATUS[signal]].includes(ended.status), reported);
      if (ended.status !== 0) cuts.push(`${stage} ${signal}`);
      assert.deepEqual(beside(cut.folder), [], reported);
    }
  }
  assert.ok(cuts.length > 8, cuts.join(", "));
  for (const made of [whole, cut]) {
    const end = await walking(made).ended;
    assert.equal(end.status, 0, end.err);
  }
  await Promise.all([conducting(), conducted()]);
  assert.deepEqual(await found(cut), await found(whole));
  assert.deepEqual([farm.commands(), farm.others()], [[], []]);
});

/** Four machines with BMCs on an Ironic that can stage them, and a file that says where all is. */
async function deployed(t: TestContext, addresses: readonly string[]): Promise<Deployment> {
  const given = cloud({ machines: 4, version: 280, release: "kilo" });
  const nodes = given.nova_bm.nodes.map((node, at) => ({
    ...node,
    ...{ pm_address: addresses[at] ?? "", pm_password: "bmc-secret" },
  }));
  const site = { ...SITE, machines: [...SITE.machines, ROOT, LEFT] };
  const made = await deployFiles(t, { ...given, nova_bm: { nodes }, site, power: true } as Case);
  writeFileSync(file(made), JSON.stringify(connections(made)), { mode: 0o600 });
  return made;
}

function file({ folder }: Deployment): string {
  return join(folder, "nova2ironic.yaml");
}

/** The words of extract and plan, as a file of connections has them. */
function connections({ run, source, writer, novaWriter, plan }: Deployment) {
  const words = [...source, ...writer, ...novaWriter.slice(0, 2), ...plan.slice(0, 2)];
  const pairs = words.flatMap((word, at) =>
    at % 2 === 0 ? [[word.slice(2).replaceAll("-", "_"), words[at + 1]] as const] : [],
  );
  return { ...Object.fromEntries(pairs), run };
}

function walking(made: Deployment, ...more: readonly string[]) {
  const words = ["run", "--config", file(made), "--staged", "--yes", "--watch", "0"];
  return start([...words, "--allow-pairing", "--wait", "30", ...more]);
}

/** Sends it in a stage. One that ended before is behind the run, which says so and ends well. */
async function signalled(made: Deployment, stage: RunStage, signal: keyof typeof STATUS) {
  const started = walking(made, "--until", stage);
  await started.said(` of 10: ${stage}`).catch(() => undefined);
  started.signal(signal);
  return started.ended;
}

/** What no command leaves: locks, halves of files. */
function beside(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) =>
    /n2i-tmp|lock$|-journal$/.test(name),
  );
}

/** A conductor that takes over what it may, and a nova-compute that offers it. */
function conductors(made: Deployment): () => Promise<void> {
  let ended = false;
  const work = (async () => {
    const { db } = made.ironic;
    const alive = { hostname: "cond-1", updated_at: "2099-01-01 00:00:00", online: true };
    await db("conductors").insert({ id: 1, drivers: '["pxe_ipmitool"]', ...alive });
    while (!ended) {
      await new Promise((done) => setTimeout(done, 200));
      const free = db("nodes").where({ maintenance: false, conductor_affinity: null });
      // A file that the tool writes to just now is taken later.
      await free.update({ conductor_affinity: 1, power_state: "power on" }).catch(() => undefined);
    }
  })();
  return async () => {
    ended = true;
    await work;
  };
}

/** What both databases hold, apart from times and what a run is called. */
async function found({ ironic, nova }: Deployment) {
  const rows = [...(await rowsOf(ironic)), ...(await rowsOf(nova))];
  return rows.map(([name, row]) => [name, row]);
}
