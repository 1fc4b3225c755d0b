import assert from "node:assert/strict";
import { renameSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { faultyProxy } from "../lab/ironic/faulty.ts";
import { needsIronic } from "../lab/ironic/with-ironic.ts";
import { copyFolder } from "../support/copy-folder.ts";
import { ADOPTED, adoption, THREE } from "./adoption.ts";

const NAME = "tenant-3";
const [FIRST, FREE, NAMED] = THREE;

test("a uuid or a name that is taken fails its machine at once, and what another run loads then is never rolled back", async (t) => {
  const ironic = await needsIronic(t);
  const proxy = await faultyProxy(ironic.url, t);
  const at = await adoption(t, ironic, ["--ironic-url", proxy.url], {}, { set: { name: NAME } });
  const made = async (body: object): Promise<string> => {
    const asked = { driver: "fake-hardware", ...body };
    const { status, body: node } = await at.api("POST", "/v1/nodes", asked);
    assert.equal(status, 201, JSON.stringify(node));
    // The answer is the node.
    return (node as { readonly uuid: string }).uuid;
  };
  const gone = async (...uuids: readonly string[]): Promise<void> => {
    for (const uuid of uuids)
      assert.equal((await at.api("DELETE", `/v1/nodes/${uuid}`)).status, 204);
  };
  const spare = await made({});
  const other = await made({ name: "spare" });
  await at.does(0, "plan");
  const [mine, theirs, run] = ["mine", "theirs", "run"].map((name) => join(at.folder, name));
  assert.ok(mine !== undefined && theirs !== undefined && run !== undefined);
  copyFolder(run, theirs);

  // As many rows as when the plan was made: only the calls themselves meet them.
  await gone(spare);
  await made({ uuid: FREE });
  const renamed = [{ op: "replace", path: "/name", value: NAME }];
  assert.equal((await at.api("PATCH", `/v1/nodes/${other}`, renamed)).status, 200);
  const { out } = await at.does(3, "apply", ["--yes"]);
  for (const told of [
    `^Failed: ${FREE} .*that this tool did not create$`,
    `^Failed: ${NAMED} .*POST of the node: 409 .*; Ironic has no record of it$`,
  ])
    assert.match(out, new RegExp(told, "m"));
  const posts = proxy.calls().filter(({ method, path }) => method + path === "POST/v1/nodes");
  assert.equal(posts.length, 3, "a duplicate is not tried again");
  const states = async (): Promise<readonly string[]> => (await at.there()).nodes;
  await at.does(0, "rollback", ["--all", "--yes"]);
  assert.deepEqual(await states(), [`${FREE} enroll`, `${other} enroll`].toSorted());

  await gone(FREE ?? "", other);
  renameSync(run, mine);
  renameSync(theirs, run);
  await at.does(0, "apply", ["--yes"]);
  assert.deepEqual(await at.there(), ADOPTED);
  renameSync(run, theirs);
  renameSync(mine, run);
  const undone = await at.does(0, "rollback", ["--all", "--yes"]);
  assert.match(undone.out, /^Rollback: 0 rows removed, 0 already deleted, 0 left\.$/m);
  await at.does(0, "apply", ["--yes"]);
  await at.does(0, "rollback", ["--all", "--yes"]);
  assert.deepEqual(await at.there(), ADOPTED, "all three are the other run's");
  renameSync(run, mine);
  renameSync(theirs, run);
  await at.does(0, "rollback", ["--node", FIRST ?? "", "--yes"]);
  assert.deepEqual(await states(), ADOPTED.nodes.slice(1));
});
