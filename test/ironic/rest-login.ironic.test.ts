import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { assertRefusal } from "../hostile/cli.ts";
import { faultyProxy } from "../lab/ironic/faulty.ts";
import { fakeKeystone } from "../lab/ironic/keystone.ts";
import { needsIronic, withIronic } from "../lab/ironic/with-ironic.ts";
import { ADOPTED, adoption, NOTHING } from "./adoption.ts";

const SECRET = "a-secret-of-the-cloud";

test("with http_basic a cloud's password comes from secure.yaml, and a wrong one is refused unseen", async (t) => {
  const ironic = await withIronic(t, "postgresql", { auth: "http_basic" });
  const at = await adoption(t, ironic, ["--os-cloud", "lab"], { HOME: "/nonexistent" });
  const auth = { username: "admin", endpoint: ironic.url };
  const clouds = join(at.folder, "clouds.yaml");
  writeFileSync(clouds, JSON.stringify({ clouds: { lab: { auth_type: "http_basic", auth } } }));
  const secure = join(at.folder, "secure.yaml");
  const put = (password: string): void =>
    writeFileSync(secure, `clouds:\n  lab:\n    auth: {password: ${password}}\n`, { mode: 0o600 });
  const env = { OS_CLIENT_CONFIG_FILE: clouds, OS_CLIENT_SECURE_FILE: secure };
  put(SECRET);
  const refused = await at.does(12, "plan", [], env);
  assertRefusal(refused, 12, "N2I-E211", /rejects the credentials/);
  assert.doesNotMatch(refused.err + refused.out, new RegExp(SECRET));
  put(ironic.password ?? "");
  await at.does(0, "plan", [], env);
  await at.does(0, "apply", ["--yes"], env);
  assert.deepEqual(await at.there(), ADOPTED);
  await at.does(0, "rollback", ["--all", "--yes"], env);
  assert.deepEqual(await at.there(), NOTHING);
});

test("a token of Keystone is renewed when it is refused, though Keystone falters, and the service comes from its catalog", async (t) => {
  const ironic = await needsIronic(t);
  const proxy = await faultyProxy(ironic.url, t);
  const keystone = await fakeKeystone(t, SECRET, proxy.url);
  const password = {
    ...{ OS_AUTH_URL: `${keystone.url}/v3`, OS_INTERFACE: "internal", OS_REGION_NAME: "lab" },
    ...{ OS_USERNAME: "mover", OS_PASSWORD: SECRET, OS_PROJECT_NAME: "admin" },
    HOME: "/nonexistent",
  };
  const at = await adoption(t, ironic, ["--via", "rest"], password);
  await at.does(0, "plan");
  assert.match(
    keystone.asked()[0] ?? "",
    /"methods":\["password"\].*"name":"mover","domain":\{"id":"default"\},"password".*"scope":\{"project":\{"name":"admin"/,
  );
  let calls = 0;
  const dead = new Set<string>();
  proxy.use(({ token }) => {
    calls += 1;
    if (calls === 12 && token !== undefined) dead.add(token);
    if (token !== undefined && !dead.has(token)) return null;
    return { do: "answer", status: 401, text: `{"error": "no token ${token}"}` };
  });
  const before = keystone.tokens().length;
  keystone.falter(2);
  await at.does(0, "apply", ["--yes"]);
  assert.deepEqual(await at.there(), ADOPTED);
  // One for the run, one for the guard's look, one in place of the dead one.
  assert.equal(keystone.tokens().length, before + 3);
  const application = {
    OS_AUTH_TYPE: "v3applicationcredential",
    OS_APPLICATION_CREDENTIAL_ID: "abc",
    OS_APPLICATION_CREDENTIAL_SECRET: SECRET,
  };
  await at.does(0, "rollback", ["--all", "--yes"], application);
  assert.match(keystone.asked().at(-1) ?? "", /"application_credential":\{"id":"abc","secret"/);
  assert.deepEqual(await at.there(), NOTHING);
  const wrong = await at.does(12, "plan", [], { OS_PASSWORD: "another-secret" });
  assertRefusal(wrong, 12, "N2I-E211", /Keystone at .* rejects the credentials/);
  assert.doesNotMatch(wrong.err, /another-secret/);
  const gone = await at.does(64, "plan", [], { OS_REGION_NAME: "moon" });
  assertRefusal(gone, 64, "N2I-E106", /no internal baremetal endpoint in region moon/);
});

test("a plan for one service is refused at another, and at a database", async (t) => {
  const ironic = await needsIronic(t);
  const proxy = await faultyProxy(ironic.url, t);
  const at = await adoption(t, ironic, []);
  await at.does(0, "plan", ["--ironic-url", ironic.url]);
  const other = await at.does(4, "apply", ["--yes", "--ironic-url", `${proxy.url}/`]);
  const err = other.err.replace(/^Plan: .*\n/m, "");
  assertRefusal({ ...other, err }, 4, "N2I-E300", /address was/);
  const both = ["--ironic-url", ironic.url, "--ironic-db", "sqlite:////x"];
  assertRefusal(await at.does(64, "plan", both), 64, "N2I-E100", /are mutually exclusive/);
  const nowhere = await at.does(64, "plan", ["--without", "ironic-url"]);
  assertRefusal(nowhere, 64, "N2I-E100", /location of Ironic is missing/);
  proxy.use(() => ({ do: "answer", status: 200, text: "{}" }));
  const none = await at.does(4, "plan", ["--ironic-url", proxy.url]);
  assertRefusal(none, 4, "N2I-E202", /is not a bare metal service/);
});
