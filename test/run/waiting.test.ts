import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { cloudFor } from "../../src/run/cloud.ts";
import { closing } from "../../src/run/databases.ts";
import { processContext, surrounded, waitingFor } from "../../src/run/process-context.ts";
import { privateFolder } from "../hostile/deployment.ts";

test("what takes more than two seconds says what it is, again each half minute, and no more at its end", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout", "Date"] });
  const said: string[] = [];
  const world = { ...processContext(), wait: (text: string) => void said.push(text) };
  await surrounded(world, async () => {
    assert.equal(await waitingFor("counting", () => Promise.resolve(1)), 1);
    let resolve = (): void => undefined;
    const promise = new Promise<void>((done) => {
      resolve = done;
    });
    const waited = waitingFor("reading the plan", () => promise);
    t.mock.timers.tick(1999);
    assert.deepEqual(said, []);
    t.mock.timers.tick(1);
    t.mock.timers.tick(30_000);
    resolve();
    await waited;
    t.mock.timers.tick(60_000);
  });
  assert.deepEqual(said, [
    "Still reading the plan: 2 s so far.",
    "Still reading the plan: 32 s so far.",
  ]);
});

test("all that is kept is closed, the last first, though some fail; the first failure is told", async () => {
  const closed: string[] = [];
  const system = (name: string, fails: boolean) => ({
    close: async () => {
      closed.push(name);
      if (fails) throw new Error(`${name} fails`);
    },
  });
  const open = (work: () => string) =>
    closing(async (keep) => {
      for (const name of ["nova", "ironic", "journal"]) keep(system(name, name !== "nova"));
      return work();
    });
  await assert.rejects(
    open(() => "done"),
    { message: "journal fails" },
  );
  assert.deepEqual(closed, ["journal", "ironic", "nova"]);
  const broken = () => {
    throw new Error("the work fails");
  };
  await assert.rejects(open(broken), { message: "the work fails" });
  assert.deepEqual(closed.slice(3), ["journal", "ironic", "nova"]);
});

test("variables that name an endpoint beside a named cloud are told, as they are not read", (t) => {
  const folder = privateFolder(t);
  const auth = "{auth_url: 'http://keystone', username: u, password: p}";
  writeFileSync(join(folder, "clouds.yaml"), `clouds: {c: {auth: ${auth}}}`);
  const said: string[] = [];
  const read = (env: { readonly [name: string]: string }) =>
    surrounded(
      {
        ...processContext(),
        ...{ env: { HOME: folder, XDG_CONFIG_HOME: folder, ...env }, cwd: () => folder },
        report: (text: string) => void said.push(text),
      },
      () => cloudFor({ osCloud: "c" }),
    );
  const region = { OS_REGION_NAME: "two", OS_USERNAME: "other", OS_VOLUME_INTERFACE: "internal" };
  assert.equal(read(region).catalog.compute.region, "two");
  assert.deepEqual(said, []);
  const faces = { OS_ENDPOINT_TYPE: "internalURL", OS_NETWORK_ENDPOINT_OVERRIDE: "http://n" };
  assert.equal(read({ ...faces, OS_INTERFACE: "" }).catalog.network.interface, "public");
  assert.deepEqual(said, [
    `Warning: with cloud "c" of ${folder}/clouds.yaml, these are ignored: OS_ENDPOINT_TYPE, OS_NETWORK_ENDPOINT_OVERRIDE. Set them in the cloud.`,
  ]);
});
