import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { cloudFor } from "../../src/run/cloud.ts";
import { surrounded, surroundings } from "../../src/run/process-context.ts";
import { privateFolder } from "../hostile/deployment.ts";

test("variables that name an endpoint beside a named cloud are told, as they are not read", (t) => {
  const folder = privateFolder(t);
  const auth = "{auth_url: 'http://keystone', username: u, password: p}";
  writeFileSync(join(folder, "clouds.yaml"), `clouds: {c: {auth: ${auth}}}`);
  const said: string[] = [];
  const read = (env: { readonly [name: string]: string }) =>
    surrounded(
      {
        ...surroundings(),
        ...{ env: { HOME: folder, XDG_CONFIG_HOME: folder, ...env }, cwd: () => folder },
        tell: (text: string) => void said.push(text),
      },
      () => cloudFor({ osCloud: "c" }),
    );
  const region = { OS_REGION_NAME: "two", OS_USERNAME: "other", OS_VOLUME_INTERFACE: "internal" };
  assert.equal(read(region).catalog.compute.region, "two");
  assert.deepEqual(said, []);
  const faces = { OS_ENDPOINT_TYPE: "internalURL", OS_NETWORK_ENDPOINT_OVERRIDE: "http://n" };
  assert.equal(read({ ...faces, OS_INTERFACE: "" }).catalog.network.interface, "public");
  assert.deepEqual(said, [
    `Warning: cloud "c" of ${folder}/clouds.yaml is read without OS_ENDPOINT_TYPE, OS_NETWORK_ENDPOINT_OVERRIDE: write them into the cloud.`,
  ]);
});
