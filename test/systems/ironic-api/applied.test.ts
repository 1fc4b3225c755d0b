import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { pauseShorter } from "../../../src/systems/openstack/passing.ts";
import { type Case, caseMac, caseUuid } from "../../cases/case.ts";
import { writeCase } from "../../cases/write-case.ts";
import { assertRefusal, refused, run, runs } from "../../hostile/cli.ts";
import { privateFolder } from "../../hostile/deployment.ts";
import { acceptOf, tenant } from "../../hostile/fleet.ts";
import { faultyProxy } from "../../lab/ironic/faulty.ts";
import { refuses } from "../../manage/in-memory.ts";
import { authority } from "../../support/certificates.ts";
import { type Fault, instead } from "../../support/faulty-service.ts";
import { fleetUuid } from "../../support/fleet.ts";
import {
  bothWays,
  conductor,
  freeMachines,
  type Living,
  livingIronic,
  machineOf,
  NODE,
  PORT,
  planOverRest,
  standIn,
} from "./living.ts";

const LOCKED = { done: false, says: refuses(409, "Node a is locked by host lab, please retry") };
const KINDS: { readonly [what: string]: Fault } = {
  "answers 500": { done: false, says: refuses(500, "Internal error") },
  "does it, and answers 500": { done: true, says: refuses(500, "Internal error") },
  "answers 503": { done: false, says: refuses(503, "No free conductor workers") },
  "has nobody behind its proxy": { ...instead(404, "default backend - 404"), between: true },
  "is given up by its proxy": {
    ...{ ...instead(504, "<html>Gateway Time-out</html>"), done: true, between: true },
  },
  "says that the node is locked": LOCKED,
  "does it, and cuts its answer": { done: true, says: null },
  "ends the connection": { done: false, says: null },
};
const HELD = { maintenance: true, maintenance_reason: "look", traits: ["CUSTOM_A"] };
const MACHINES = {
  "in use": {},
  "in use, held and with traits": HELD,
  free: { provision_state: "available", protected: false, protected_reason: null },
};

/** A fault for the first of every call; a question, and a node being made, is never locked. */
function first(fault: Fault): (call: string) => Fault | null {
  const seen = new Set<string>();
  return (call) => {
    if (seen.has(call) || (fault === LOCKED && /^GET|^POST .*nodes$/.test(call))) return null;
    seen.add(call);
    return fault;
  };
}

for (const [kind, more] of Object.entries(MACHINES))
  test(`whatever a service does to the first of every call, a machine that is ${kind} is adopted and taken back`, async (t) => {
    pauseShorter(0);
    t.after(() => pauseShorter(1));
    const ironic = await livingIronic(t);
    for (const [what, fault] of Object.entries(KINDS)) {
      const machine = machineOf(more);
      const run = bothWays(ironic, [machine]);
      ironic.use(first(fault));
      const { failed, skipped: left } = await run.apply();
      assert.deepEqual({ failed, left }, { failed: [], left: [] }, what);
      const [node] = ironic.nodes.values();
      for (const [field, value] of Object.entries(machine.node))
        assert.deepEqual(node?.[field], value, `${field}, when it ${what}`);
      assert.equal(ironic.ports.size, 1, what);
      ironic.use(first(fault));
      const back = await run.rollback();
      assert.deepEqual({ failed: back.failed, left: back.skipped }, { failed: [], left: [] }, what);
      assert.deepEqual([ironic.nodes.size, ironic.ports.size], [0, 0], what);
    }
  });

const SECOND = fleetUuid(2);

/** Two tenants' machines and a free one, which nobody can switch. */
function tenants(): Case {
  const accept = acceptOf("N2I-D403", "N2I-D604", "N2I-D605", "N2I-D752");
  return {
    ...freeMachines(0),
    nova_bm: { nodes: [tenant(1), tenant(2), { id: 3 }] },
    site: { format: "nova2ironic/site@1", machines: [{ match: {}, accept }] },
  };
}

async function loaded(t: TestContext) {
  const ironic = await livingIronic(t);
  const { at, target } = await planOverRest(t, ironic.url, tenants());
  const on = [...at, ...target];
  await runs(0, ["apply", ...on, "--yes", "-q"]);
  return { ironic, at, on };
}

/** `protected` and `automated_clean` of each node, in the plan's order. */
function guards({ nodes }: Living): readonly string[] {
  return [1, 2, 3].map((id) => {
    const { protected: guarded, automated_clean = null } = nodes.get(fleetUuid(id)) ?? {};
    return `${guarded} ${automated_clean}`;
  });
}
const LOADED = ["true false", "true false", "false null"];
const CLEARED = ["false null", "false null", "false null"];

test("over REST finish ends the run, and no command after it calls less protection half-made or writes it again", async (t) => {
  const { ironic, at, on } = await loaded(t);
  assert.deepEqual(guards(ironic), LOADED);
  // Of one machine, while the run goes on.
  await runs(0, ["finish", ...on, "--yes", "--node", "1"]);
  const again = await runs(0, ["apply", ...on, "--yes"]);
  assert.match(again.out, /^Apply: 0 rows created, [1-9]\d* unchanged\.$/m);
  assert.deepEqual(guards(ironic), ["false null", ...LOADED.slice(1)]);

  const made = await runs(0, ["finish", ...on, "--yes"]);
  assert.match(made.out, /^Finish: 1 machine cleared, 2 with .*, 0 left\.\nThis run is done\.$/m);
  assert.deepEqual(guards(ironic), CLEARED);
  const status = await runs(0, ["status", ...at]);
  assert.match(status.out, /done, ended \d{4}-/);
  assert.match(status.err, /^Next: nothing, this run is done$/m);
  const seen = await runs(0, ["verify", ...on]);
  assert.match(seen.err, / validated, 0 mismatched/);
  assert.doesNotMatch(seen.err, /Not cleaned/);
  const calls = ironic.calls.length;
  for (const command of [["apply"], ["rollback", "--all"]])
    await refused([...command, ...on, "--yes", "-q"], 4, "N2I-E321");
  assert.equal(ironic.calls.length, calls);
  // What is gone is loaded and protected as before, and finish is to clear it again.
  ironic.nodes.delete(SECOND);
  for (const [uuid, { node_uuid }] of ironic.ports)
    if (node_uuid === SECOND) ironic.ports.delete(uuid);
  await runs(0, ["apply", ...on, "--yes", "-q", "--after-finish"]);
  assert.deepEqual(guards(ironic), ["false null", "true false", "false null"]);
  await runs(0, ["finish", ...on, "--yes", "-q"]);
  assert.deepEqual(guards(ironic), CLEARED);

  await runs(0, ["finish", ...on, "--yes", "--undo"]);
  assert.deepEqual(guards(ironic), LOADED);
  await runs(0, ["finish", ...on, "--yes"]);
  const { out } = await runs(0, ["rollback", ...on, "--all", "--yes", "--after-finish"]);
  assert.match(out, / 0 left\.$/m);
  assert.equal(ironic.nodes.size, 0);
  // What is loaded once more is protected once more.
  await runs(0, ["apply", ...on, "--yes", "-q"]);
  assert.deepEqual(guards(ironic), LOADED);
});

const CLASHES: Case = {
  shows:
    "a MAC, a name, an instance and a uuid that are taken, a tenant that boots from the network",
  nova_bm: { nodes: [{ id: 1 }, { id: 2 }, { id: 3 }, tenant(4), tenant(5)] },
  site: {
    format: "nova2ironic/site@1",
    machines: [
      { match: {}, accept: acceptOf("N2I-D604") },
      { match: { uuid: caseUuid("node", 2) }, set: { name: "rack-7" } },
      { match: { id: "4" }, accept: acceptOf("N2I-D403") },
    ],
  },
  allow_pairing: true,
};

test("a plan over REST tells what is taken in Ironic and what cannot boot there, and apply refuses it", async (t) => {
  const nodes = [
    { uuid: NODE, name: "rack-7", driver: "ipmi", instance_uuid: caseUuid("instance", 4) },
    { uuid: caseUuid("node", 3), name: null, driver: "ipmi", reservation: "lab" },
  ];
  const ports = [{ uuid: PORT, node_uuid: NODE, address: caseMac(1, 0) }];
  const url = await standIn(t, {
    ...conductor("ipmi"),
    "/v1/nodes": () => ({ nodes }),
    "/v1/nodes/detail": () => ({ nodes }),
    "/v1/ports": () => ({ ports }),
    "/v1/ports/detail": () => ({ ports }),
  });
  const { at, target, folder, planned } = await planOverRest(t, url, CLASHES, 6);
  assert.match(planned.out, /N2I-D422 warning/);
  const { out } = await runs(0, ["show", join(folder, "run", "plan"), "--diff"]);
  for (const words of [
    new RegExp(`N2I-D501 .* is on port ${PORT} of node`),
    new RegExp(`N2I-D503 .*"rack-7" is node ${NODE}`),
    /N2I-D500 .*a node with this uuid exists, and this tool did not load it/,
    new RegExp(`N2I-D502 .* is on node ${NODE}`),
    /N2I-D403 blocks .*bm_nodes.id=5/,
  ])
    assert.match(out, words);
  const applied = await run(["apply", ...at, ...target, "--yes", "-q"]);
  assertRefusal(applied, 4, "N2I-E325", /1 blocked, 4 in conflict/);
});

const HERE = "IP:127.0.0.1";

test("a client's certificate adopts, and one of the server's that changes amid the run ends it with the journal intact", async (t) => {
  const folder = privateFolder(t);
  const ironic = await livingIronic(t);
  const ca = authority(t);
  const good = ca.signs(HERE, 1);
  const proxy = await faultyProxy(ironic.url, t, good, readFileSync(ca.file));
  const own = ca.signs("DNS:mover", 1);
  const file = (name: string, text: Buffer): string => {
    const path = join(folder, name);
    writeFileSync(path, text, { mode: 0o600 });
    return path;
  };
  const pair = { OS_CERT: file("mover.pem", own.cert), OS_KEY: file("mover.key", own.key) };
  const env = { OS_CACERT: ca.file, ...pair, OS_ENDPOINT: proxy.url };
  const at = ["--run", join(folder, "run")];
  const does = (status: number, ...words: readonly string[]) =>
    runs(status, [...words, ...at], { env });
  const written = await writeCase(freeMachines(3), folder);
  await does(0, "extract", ...written.extract);
  const ofHome = { ...env, HOME: folder, OS_CERT: "~/mover.pem" };
  await runs(0, ["plan", "--via", "rest", ...written.plan, ...at], { env: ofHome });
  let ports = 0;
  proxy.use(({ method, path }) => {
    if (`${method} ${path}` !== "POST /v1/ports") return null;
    ports += 1;
    if (ports !== 2) return null;
    proxy.shows(ca.signs(HERE, -1));
    return { do: "refuse" };
  });
  const apply = ["apply", "--via", "rest", "--yes", "--in-flight", "1"];
  const broke = await does(5, ...apply);
  assert.match(broke.err, /^ERROR N2I-E301 Apply stopped after 1 machine: N2I-E213 .*expired/im);
  assert.match(broke.out, /^Failed: .*N2I-E213 .*; its node is "enroll" in Ironic$/m);
  proxy.use(() => null);
  const status = await does(0, "status");
  assert.doesNotMatch(status.out, /N2I-E112/);
  const again = await does(1, ...apply);
  assert.match(again.err, /^ERROR N2I-E213 .*expired/m);
  proxy.shows(good);
  await does(0, ...apply);
  const states = [...ironic.nodes.values()].map(({ provision_state }) => provision_state);
  assert.deepEqual([states, ironic.ports.size], [Array(3).fill("available"), 3]);
  await does(0, "rollback", "--via", "rest", "--all", "--yes");
  assert.deepEqual([ironic.nodes.size, ironic.ports.size], [0, 0]);
});

const FORBIDDEN = { done: false, says: refuses(403, "Access was denied") };

test("a role that may not write is refused, and leaves journal and rollback as if nothing had begun", async (t) => {
  const ironic = await livingIronic(t);
  const { at, target } = await planOverRest(t, ironic.url);
  ironic.use((call) => (call.startsWith("GET") ? null : FORBIDDEN));
  const denied = await runs(12, ["apply", ...at, ...target, "--yes", "-q"]);
  assert.match(denied.err, /^ERROR N2I-E211 .* refuses POST \/v1\/nodes: 403 Access was denied/m);
  assert.match(denied.out, /^Failed: .*Access was denied; Ironic has no record of it$/m);
  const { out } = await runs(0, ["rollback", ...at, ...target, "--yes", "--all", "-q"]);
  assert.match(out, /^Rollback: 0 rows removed, 0 already deleted, 0 left\.$/m);
  assert.match((await runs(0, ["status", ...at])).out, /0 rows created in 0 batches /);
  ironic.use(() => null);
  await runs(0, ["apply", ...at, ...target, "--yes", "-q"]);
  assert.deepEqual([ironic.nodes.size, ironic.ports.size], [1, 1]);
});

test("a batch in which one call was not refused stays begun when the next is forbidden", async (t) => {
  const ironic = await livingIronic(t);
  const run = bothWays(ironic, [machineOf()]);
  ironic.use((call) => (call === "POST /v1/ports" ? FORBIDDEN : null));
  const { broke } = await run.apply();
  assert.equal(broke?.code, "N2I-E301");
  const whole = run.journal().filter((entry) => entry.do === "aborted" && entry.rows === undefined);
  assert.deepEqual(whole, []);
  ironic.use(() => null);
  const { done, skipped: left } = await run.rollback();
  assert.deepEqual([done, left, ironic.nodes.size], [1, [], 0]);
});

/** What a call may take, in milliseconds. */
const LIMIT = 5000;

/** The first call that makes a node and the first that deletes one are done after they were given up. */
function slowFirst({ mock }: TestContext, ironic: Living): void {
  const seen = new Set<string>();
  ironic.use((call) => {
    if (seen.has(call) || !/^(POST \/v1\/nodes$|DELETE \/v1\/nodes\/[^/]+$)/.test(call))
      return null;
    seen.add(call);
    mock.timers.tick(LIMIT);
    return { done: true, before: turn() };
  });
}

test("--api-timeout gives a call up, and apply and rollback look what became of it", async (t) => {
  const ironic = await livingIronic(t);
  const { at, target } = await planOverRest(t, ironic.url);
  const given = [...at, ...target, "--yes", "--api-timeout", String(LIMIT / 1000)];
  t.mock.timers.enable({ apis: ["setTimeout"] });
  slowFirst(t, ironic);
  await runs(0, ["apply", ...given]);
  assert.deepEqual([ironic.nodes.size, ironic.ports.size], [1, 1]);
  slowFirst(t, ironic);
  const { out } = await runs(0, ["rollback", ...given, "--all"]);
  assert.match(out, /^Rollback: 2 rows removed, 0 already deleted, 0 left\.$/m);
  assert.deepEqual([ironic.nodes.size, ironic.ports.size], [0, 0]);
});
