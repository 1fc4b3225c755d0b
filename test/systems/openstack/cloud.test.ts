import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { cloudOf } from "../../../src/systems/openstack/cloud.ts";
import { cloudSettings, environmentSettings } from "../../../src/systems/openstack/clouds.ts";
import { faultIn } from "../../../src/systems/openstack/http.ts";
import { privateFolder } from "../../hostile/deployment.ts";

test("clouds.yaml here wins over the user's, and secure.yaml adds what it lacks", (t) => {
  const folder = privateFolder(t);
  const here = join(folder, "here");
  const user = join(folder, "config", "openstack");
  for (const each of [here, user]) mkdirSync(each, { recursive: true });
  const env = { XDG_CONFIG_HOME: join(folder, "config"), HOME: folder };
  const cloud = (url: string) =>
    `clouds: {a: {auth: {auth_url: ${url}, username: u}, region_name: r}}`;
  writeFileSync(join(user, "clouds.yaml"), cloud("http://user"));
  writeFileSync(join(user, "secure.yaml"), "clouds: {a: {auth: {password: 'p: 1'}}}");
  const url = () => cloudSettings("a", env, here).settings.get("auth_url");
  assert.equal(url(), "http://user");
  writeFileSync(join(here, "clouds.yaml"), cloud("http://here"));
  assert.equal(url(), "http://here");
  assert.equal(cloudSettings("a", env, here).settings.get("password"), "p: 1");
  assert.throws(() => cloudSettings("b", env, here), /has no cloud "b"; it has a$/);
  writeFileSync(join(user, "secure.yaml"), "clouds: {a: {auth: {password: [secret-text}}}");
  const message = /^(?!.*secret-text).*secure.yaml is not a YAML mapping/s;
  assert.throws(() => cloudSettings("a", env, here), { message });
});

test("what a login lacks is told by its name", () => {
  const from = (env: Record<string, string>) => cloudOf(environmentSettings(env), "OS_*");
  assert.deepEqual(from({}).auth, { kind: "none", explicit: false });
  assert.deepEqual(from({ OS_AUTH_TYPE: "none" }).auth, { kind: "none", explicit: true });
  assert.throws(() => from({ OS_PASSWORD: "x" }), /OS_\*: auth_url is missing/);
  const url = { OS_AUTH_URL: "http://k" };
  assert.throws(() => from(url), /OS_\*: password is missing/);
  assert.throws(() => from({ ...url, OS_PASSWORD: "x" }), /username is missing/);
  const token = { OS_AUTH_TYPE: "v2token" };
  assert.throws(() => from(token), /auth_type v2token is not one of none, http_basic/);
  assert.throws(() => from({ OS_INTERFACE: "secret" }), /interface secret is none of/);
  assert.equal(from({ OS_INTERFACE: "internalURL" }).catalog.image.interface, "internal");
  assert.equal(from({ OS_INSECURE: "true" }).tls.insecure, true);
});

test("a token is asked for as Keystone wants it, by names or ids", () => {
  const asked = (env: Record<string, string>) => {
    const { auth } = cloudOf(environmentSettings({ OS_AUTH_URL: "http://k", ...env }), "OS_*");
    return auth.kind === "keystone" ? { ...auth.question(), secret: auth.secret() } : null;
  };
  const user = { OS_USERNAME: "u", OS_PASSWORD: "p1" };
  const by = (user: object) => ({ methods: ["password"], password: { user } });
  const plain = by({ name: "u", domain: { id: "default" }, password: "p1" });
  assert.deepEqual(asked(user), { identity: plain, secret: "p1" });
  assert.deepEqual(asked({ ...user, OS_PROJECT_NAME: "p", OS_PROJECT_DOMAIN_NAME: "d" }), {
    ...{ identity: plain, secret: "p1" },
    scope: { project: { name: "p", domain: { name: "d" } } },
  });
  assert.deepEqual(asked({ ...user, OS_SYSTEM_SCOPE: "all", OS_USER_ID: "7" }), {
    identity: by({ id: "7", password: "p1" }),
    ...{ scope: { system: { all: true } }, secret: "p1" },
  });
  assert.deepEqual(asked({ ...user, OS_DOMAIN_ID: "d1", OS_DEFAULT_DOMAIN_NAME: "Base" }), {
    identity: by({ name: "u", domain: { name: "Base" }, password: "p1" }),
    ...{ scope: { domain: { id: "d1" } }, secret: "p1" },
  });
  const credential = { OS_APPLICATION_CREDENTIAL_SECRET: "s1" };
  const its = (more: object) => ({
    methods: ["application_credential"],
    application_credential: { ...more, secret: "s1" },
  });
  assert.deepEqual(asked({ ...credential, OS_APPLICATION_CREDENTIAL_ID: "c" }), {
    ...{ identity: its({ id: "c" }), secret: "s1" },
  });
  const named = { ...credential, OS_APPLICATION_CREDENTIAL_NAME: "n", OS_USERNAME: "u" };
  assert.deepEqual(asked(named), {
    identity: its({ name: "n", user: { name: "u", domain: { id: "default" } } }),
    secret: "s1",
  });
  assert.throws(() => asked(credential), /application_credential_id is missing/);
});

test("certificate files under ~ are in the user's folder, whatever they are for", () => {
  const paths = { cacert: "~/ca.pem", cert: "~", key: "/etc/~/key" };
  const { tls } = cloudOf(new Map(Object.entries(paths)), "OS_*", "/home/op");
  const { insecure: _, ...files } = tls;
  assert.deepEqual(files, { cacert: "/home/op/ca.pem", cert: "/home/op", key: "/etc/~/key" });
});

test("a fault is read through JSON in JSON, plain text and HTML, without its secrets", () => {
  const faultOf = (text: string, secrets: readonly string[] = []) =>
    faultIn({ status: 500, headers: {}, text }, secrets);
  const inner = JSON.stringify({ faultcode: "Client", faultstring: "Node a\n is locked" });
  assert.equal(faultOf(JSON.stringify({ error_message: inner })), "Node a is locked");
  const errors = [{ title: "Not Acceptable", detail: "1.82" }];
  assert.equal(faultOf(JSON.stringify({ errors })), "1.82");
  const nova = { badRequest: { message: "Invalid input", code: 400 } };
  assert.equal(faultOf(JSON.stringify(nova)), "Invalid input");
  assert.equal(faultOf("<html><b>502</b> Bad Gateway</html>"), "502 Bad Gateway");
  assert.equal(faultOf("password is hunter2", ["hunter2"]), "password is ****");
});
