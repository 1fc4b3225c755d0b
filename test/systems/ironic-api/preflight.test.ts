import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { type Case, caseMac, caseUuid } from "../../../src/demo/case.ts";
import { assertRefusal, run, runs } from "../../hostile/cli.ts";
import { tenant } from "../../hostile/fleet.ts";
import { planOverRest } from "./free-machines.ts";
import { conductor, standIn } from "./stand-in.ts";

const NODE = "e0000000-0000-4000-8000-000000000001";
const PORT = "e0000000-0000-4000-8000-000000000002";

const CLASHES: Case = {
  shows:
    "a MAC, a name, an instance and a uuid that are taken, and a tenant that boots from the network",
  nova_bm: { nodes: [{ id: 1 }, { id: 2 }, { id: 3 }, tenant(4), tenant(5)] },
  site: {
    format: "nova2ironic/site@1",
    machines: [
      { match: {}, accept: [{ finding: "N2I-D604", reason: "looked at it" }] },
      { match: { uuid: caseUuid("node", 2) }, set: { name: "rack-7" } },
      {
        match: { id: "4" },
        accept: [{ finding: "N2I-D403", reason: "local boot was installed by hand" }],
      },
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
    /N2I-D501 .* is on port e0000000-0000-4000-8000-000000000002 of node/,
    /N2I-D503 .*"rack-7" is node e0000000-0000-4000-8000-000000000001/,
    /N2I-D500 .*a node with this uuid is there that this tool did not load/,
    /N2I-D502 .* is on node e0000000-0000-4000-8000-000000000001/,
    /N2I-D403 blocks .*bm_nodes.id=5/,
  ])
    assert.match(out, words);
  const applied = await run(["apply", ...at, ...target, "--yes", "-q"]);
  assertRefusal(applied, 4, "N2I-E325", /1 are blocked, 4 in conflict/);
});
