import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { caseUuid } from "../../../src/demo/case.ts";
import { ends, run, runs } from "../../hostile/cli.ts";
import { deployFiles } from "../../hostile/deployment.ts";
import { SITE } from "../../hostile/fleet.ts";
import { livingIronic } from "../../systems/ironic-api/living.ts";
import { conductor } from "../../systems/ironic-api/stand-in.ts";
import { cloud } from "./cloud.ts";

const USED = caseUuid("node", 1);
const FREE = caseUuid("node", 10);

/** Decisions that let machines load into any release. */
const site = {
  format: "nova2ironic/site@1",
  machines: [
    {
      match: {},
      set: { ...SITE.machines[0].set, resource_class: "baremetal" },
      accept: ["N2I-D227", "N2I-D403", "N2I-D755"].map((finding) => ({
        finding,
        reason: "looked at it",
      })),
    },
  ],
};

type Backend = "rows" | "rest";

/** Every way to have a rollback remove a node that an instance uses. */
const WAYS: readonly { readonly road: Backend; readonly words: readonly string[] }[] = [
  { road: "rows", words: ["--all"] },
  { road: "rows", words: ["--node", USED] },
  { road: "rest", words: ["--all"] },
];

/** Ten machines loaded without a change of any row of Nova; the tenth is free. */
async function loaded(t: TestContext, road: Backend) {
  const release = road === "rest" ? { release: "2023.1" } : {};
  const { at, source, reader, writer, plan, nova, novaWriter } = await deployFiles(t, {
    ...cloud({ machines: 10, others: 1, ...release }),
    site,
  });
  const rest = road === "rest" ? ["--ironic-url", await adopting(t)] : null;
  await runs(0, ["extract", ...at, ...source, "-q"]);
  await runs(0, ["plan", ...at, ...(rest ?? reader), ...plan, ...source.slice(2, 4), "-q"]);
  const to = [...at, ...(rest ?? writer), "--yes", "-q"];
  await runs(0, ["apply", ...to, ...novaWriter]);
  const report = (host: string, updated_at: unknown) =>
    nova.db("services").where({ host }).update({ updated_at });
  return { to, nova, report, novaWriter, now: nova.db.raw("datetime('now')") };
}

/** An Ironic with a conductor that adopts. */
async function adopting(t: TestContext): Promise<string> {
  const living = await livingIronic(t);
  const lists = conductor("ipmi");
  living.use((call) => {
    const [path = ""] = call.slice("GET ".length).split("?");
    const said = lists[path]?.();
    return said === undefined
      ? null
      : { done: false, says: { status: 200, text: JSON.stringify(said) } };
  });
  return living.url;
}

for (const road of ["rows", "rest"] as const)
  test(`over ${road}, no rollback removes a node that an instance uses beside a nova-compute that runs, or without a look at any`, async (t) => {
    const { to, nova, report, novaWriter, now } = await loaded(t, road);
    await report("compute-1", now);
    for (const { words } of WAYS.filter((way) => way.road === road)) {
      const beside = await ends(4, run(["rollback", ...to, ...words, ...novaWriter]));
      assert.match(beside.err, /N2I-E310.*reported from compute-1 \d+ s ago/s);
      const without = ["--without", "nova-db"];
      const blind = await ends(4, run(["rollback", ...to, ...words, ...without], { bare: true }));
      assert.match(blind.err, /N2I-E311.*instances use \d of the nodes/s);
    }
    await report("compute-1", "2014-12-01 00:00:00");
    if (road === "rows") {
      // Under whatever name it runs: Nova says who offers the machine.
      const old = await nova.db("services").where({ id: 1 }).first();
      await nova.db("services").insert({ ...old, id: 90, host: "elsewhere", updated_at: now });
      await nova.db("compute_nodes").where({ id: 1 }).update({ service_id: 90 });
      const other = await ends(4, run(["rollback", ...to, "--node", USED, ...novaWriter]));
      assert.match(other.err, /N2I-E310.*reported from elsewhere/s);
      await report("elsewhere", "2014-12-01 00:00:00");
      await runs(0, ["rollback", ...to, "--node", FREE, "--without", "nova-db"], { bare: true });
    }
    const back = await runs(0, ["rollback", ...to, "--all", ...novaWriter]);
    assert.match(back.out, /Rollback: [1-9]\d* rows removed/);
  });
