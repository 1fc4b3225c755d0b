import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { type Ran, run, runs } from "../../hostile/cli.ts";
import { deployFiles, privateFolder } from "../../hostile/deployment.ts";
import { settleIn } from "../../lab/cloud/settle.ts";
import { type Cloud, withCloud } from "../../lab/cloud/start.ts";
import type { TestDatabase } from "../../lab/index.ts";
import { planWords } from "../../support/plan-files.ts";
import { linesWith, typed } from "../../support/shell-lines.ts";
import { cloud, IMAGES, NEW } from "./cloud.ts";
import { alembicCloud, laterCloud } from "./later.ts";
import { changes, rowsOf, sameRows } from "./rows.ts";

test("a real Glance's images are found by a real Keystone's logins, and flavors of a real Nova's tables come back", async (t) => {
  const real = await withCloud(t);
  const images = [
    await image(real, "deploy kernel, of 2015", "aki"),
    await image(real, "deploy.initrd", "ari"),
  ];
  await image(real, "deploy.initrd", null);
  await image(real, "a disk", "qcow2");
  const logins = { password: real.env, application: await application(real) };
  for (const [name, env] of Object.entries(logins))
    await t.test(`login: ${name}`, (t) => found(t, env, images));
  await t.test("what is not right is refused in Glance's and Keystone's words", (t) =>
    refused(t, real),
  );
  await t.test("the runbook's lines make deploy images, and take them away", (t) =>
    runbookImages(t, real),
  );
  await t.test("tables that Nova itself made are read, changed and brought back to the byte", (t) =>
    ownTables(t, real),
  );
});

async function ownTables(t: TestContext, real: Cloud): Promise<void> {
  const given = alembicCloud();
  // Columns of later heads are not there: these are as far as Zed has them.
  const zed = { ...given, nova: { ...given.nova, version: "8f2f1571d55b" } };
  const options = [...IMAGES, "--compute-host", "ironic-compute"];
  const made = await laterCloud("mysql", t, options, zed, {
    nova: (own) => settleIn(t, own, real.databases.nova),
    api: (own) => settleIn(t, own, real.databases.nova_api),
  });
  assert.ok(made);
  const { act, nova, api } = made;
  const [before, flavors] = [await rowsOf(nova), await rowsOf(api)];
  const shown = async () => {
    const { body } = await real.api("compute", "GET", "/flavors/11/os-extra_specs");
    return JSON.stringify(body);
  };
  assert.match(await shown(), /old-kernel/);
  await ends(0, act(["apply"]));
  assert.equal(changes(before, await rowsOf(nova))["instances host"], 4);
  assert.match(await shown(), new RegExp(NEW.kernel));
  await ends(0, act(["verify"]));
  assert.deepEqual([await headOf(nova), await headOf(api)], ["ccb0fa1a2252", "b30f573d3377"]);
  await ends(0, act(["rollback", "--all"]));
  sameRows(await rowsOf(nova), before);
  sameRows(await rowsOf(api), flavors);
  assert.match(await shown(), /old-kernel/);
}

async function runbookImages(t: TestContext, { api, env }: Cloud): Promise<void> {
  const folder = privateFolder(t);
  for (const name of ["deploy.kernel", "deploy.initramfs"]) writeFileSync(join(folder, name), name);
  const lines = linesWith("openstack image create");
  const login = { ...env, OS_IDENTITY_API_VERSION: "3" };
  const said = typed(folder, lines.map((line) => `${line} -f value -c id`).join("\n"), login);
  const ids = said.trim().split("\n");
  assert.equal(ids.length, lines.length, said);
  for (const id of ids) {
    const { body } = await api("image", "GET", `/images/${id}`);
    // Glance's answer of its own API.
    const { status, visibility } = body as { readonly [field: string]: unknown };
    assert.deepEqual([status, visibility], ["active", "public"]);
  }
  typed(folder, `openstack image delete ${ids.join(" ")}`, login);
  const left = JSON.stringify((await api("image", "GET", "/images")).body);
  for (const id of ids) assert.ok(!left.includes(id), left);
}

async function headOf({ db }: TestDatabase): Promise<string> {
  return String((await db("alembic_version").first())?.version_num);
}

async function found(t: TestContext, env: Cloud["env"], images: readonly string[]): Promise<void> {
  const names = [
    ...["--deploy-kernel", "name:deploy kernel, of 2015"],
    ...["--deploy-ramdisk", "name:deploy.initrd"],
  ];
  const { run: folder } = await planned(t, env, names);
  const words = planWords(folder);
  for (const id of images) assert.ok(words.includes(id), words);
  for (const secret of [env.OS_PASSWORD, env.OS_APPLICATION_CREDENTIAL_SECRET])
    assert.ok(secret === undefined || !words.includes(secret));
}

async function refused(t: TestContext, real: Cloud): Promise<void> {
  const cases: readonly (readonly [name: string, env: Cloud["env"], says: RegExp, code: number])[] =
    [
      ["name:no such", real.env, /has no image with this name/, 4],
      ["name:a disk", real.env, /has disk_format qcow2, expected is aki or raw/, 4],
      ["name:x", { ...real.env, OS_PASSWORD: "another" }, /rejects the credentials/, 12],
    ];
  for (const [kernel, env, says, code] of cases) {
    const names = ["--deploy-kernel", kernel, "--deploy-ramdisk", "name:deploy.initrd"];
    const { said } = await planned(t, env, names, code);
    assert.match(said.err, says);
    assert.ok(!said.err.includes(env.OS_PASSWORD ?? ""));
  }
}

async function planned(t: TestContext, env: Cloud["env"], images: readonly string[], status = 0) {
  const made = await deployFiles(t, cloud({ machines: 2, others: 3 }));
  const { at, source, reader, plan } = made;
  await runs(0, ["extract", ...at, ...source, "-q"]);
  const words = ["plan", ...at, ...reader, ...source.slice(2, 4), ...plan, ...images];
  const said = await run([...words, "-q"], { env });
  assert.equal(said.status, status, `${said.out}${said.err}`);
  return { said, run: made.run };
}

async function ends(status: number, ran: Promise<Ran>): Promise<Ran> {
  const told = await ran;
  assert.equal(told.status, status, `${told.out}${told.err}`);
  return told;
}

/** @param disk_format null: an image that is only queued */
async function image({ api }: Cloud, name: string, disk_format: string | null): Promise<string> {
  const made = await api("image", "POST", "/images", {
    name,
    ...(disk_format !== null && {
      disk_format,
      container_format: disk_format === "qcow2" ? "bare" : disk_format,
    }),
  });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  // Glance's answer of its own API.
  const { id } = made.body as { readonly id: string };
  if (disk_format !== null) {
    const put = await api("image", "PUT", `/images/${id}/file`, "bytes of an image");
    assert.equal(put.status, 204, JSON.stringify(put.body));
  }
  return id;
}

async function application({ api, env }: Cloud): Promise<Cloud["env"]> {
  const users = await api("identity", "GET", "/users");
  // Keystone's answers of its own API.
  const [{ id }] = (users.body as { readonly users: readonly [{ readonly id: string }] }).users;
  const application_credential = { name: "nova2ironic" };
  const path = `/users/${id}/application_credentials`;
  const made = await api("identity", "POST", path, { application_credential });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  const { application_credential: told } = made.body as {
    readonly application_credential: { readonly id: string; readonly secret: string };
  };
  return {
    OS_AUTH_URL: env.OS_AUTH_URL ?? "",
    OS_AUTH_TYPE: "v3applicationcredential",
    OS_APPLICATION_CREDENTIAL_ID: told.id,
    OS_APPLICATION_CREDENTIAL_SECRET: told.secret,
  };
}
