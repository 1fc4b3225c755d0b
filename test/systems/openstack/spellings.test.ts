import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { MigrationError } from "../../../src/lib/error.ts";
import { cloudOf, type Settings } from "../../../src/systems/openstack/cloud.ts";
import { cloudSettings, environmentSettings } from "../../../src/systems/openstack/clouds.ts";
import { answerHere, type HttpCall } from "../../../src/systems/openstack/http.ts";
import {
  BAREMETAL,
  COMPUTE,
  IMAGE,
  NETWORK,
  PLACEMENT,
} from "../../../src/systems/openstack/kinds.ts";
import { openSession } from "../../../src/systems/openstack/session.ts";
import { privateFolder } from "../../hostile/deployment.ts";

const KINDS = [BAREMETAL, COMPUTE, PLACEMENT, IMAGE, NETWORK];
const SERVICES = KINDS.map(({ name }) => name);
const KEYSTONE = "http://keystone:5000";
const OTHER = "http://other:5000";

/** Every service at every interface of two regions, each at a host of its own. */
const CATALOG = KINDS.map(({ name }) => ({
  type: name,
  endpoints: ["public", "internal", "admin"].flatMap((face) =>
    ["one", "two"].map((region) => ({
      ...{ interface: face, region_id: region, url: `http://${name}.${face}.${region}/` },
    })),
  ),
}));

/** A Keystone that takes every login, and what it was asked. */
function keystone(t: TestContext): HttpCall[] {
  const asked: HttpCall[] = [];
  for (const origin of [KEYSTONE, OTHER]) {
    answerHere(origin, (call) => {
      asked.push(call);
      const text = JSON.stringify({ token: { catalog: CATALOG, project: { id: "p-1" } } });
      const headers = { "x-subject-token": "a-token" };
      return Promise.resolve({ status: 201, headers, text });
    });
    t.after(() => answerHere(origin, null));
  }
  return asked;
}

/** What Keystone is asked, which URL each service has, and what is shown to TLS; or why nobody is asked. */
async function outcome(asked: HttpCall[], settings: () => Settings): Promise<unknown> {
  const plain = { cacert: null, cert: null, key: null, insecure: false };
  try {
    const cloud = cloudOf(settings(), "the cloud", "/home/op");
    const urls = [];
    asked.length = 0;
    for (const kind of KINDS) {
      const session = await openSession({ ...cloud, tls: plain }, 1000, kind);
      session.close();
      urls.push(session.url);
    }
    return { question: asked.map(({ url, body }) => ({ url, body }))[0], urls, tls: cloud.tls };
  } catch (error) {
    assert.ok(error instanceof MigrationError, String(error));
    assert.equal(error.code, "N2I-E106");
    return error.message.replace(/^.*?: /, "");
  }
}

const BASE = { auth_url: `${KEYSTONE}/v3`, username: "u", password: "p1", project_name: "p" };
const CREDENTIAL = {
  ...{ auth_url: `${KEYSTONE}/v3`, application_credential_secret: "s1", username: "u" },
};

/** Settings of a cloud in a file, where openstacksdk finds them. */
function fileOf(t: TestContext): (cloud: object, env?: object) => Settings {
  const folder = privateFolder(t);
  return (cloud, env = {}) => {
    writeFileSync(join(folder, "clouds.yaml"), JSON.stringify({ clouds: { c: cloud } }));
    const from = { HOME: folder, XDG_CONFIG_HOME: folder, ...env };
    return cloudSettings("c", from, folder).settings;
  };
}

interface Spelled {
  readonly value: string;
  readonly older?: readonly string[];
  readonly auth?: true;
  readonly base?: object;
}

/**
 * Settings that are read, by the name openstacksdk gives them. Those of a login may stand in `auth`; with `base` those
 * beside it, of which it is one.
 *
 * @source keystoneauth 5.0: options of password, v3password, v2password, v3applicationcredential, none, http_basic;
 *   openstacksdk 0.101: config/loader.py, _fix_backwards_*; config/cloud_region.py
 */
const READ: { readonly [name: string]: Spelled } = {
  auth_type: { value: "v3kerberos", older: ["auth_plugin"] },
  auth_url: { value: `${OTHER}/v3`, auth: true },
  username: { value: "v", older: ["user_name"], auth: true },
  user_id: { value: "7", auth: true },
  password: { value: "p2", auth: true },
  user_domain_id: { value: "d", auth: true },
  user_domain_name: { value: "D", auth: true },
  project_id: { value: "7", older: ["tenant_id"], auth: true },
  project_name: { value: "q", older: ["tenant_name"], auth: true },
  project_domain_id: { value: "d", auth: true },
  project_domain_name: { value: "D", auth: true },
  domain_id: { value: "d", auth: true },
  domain_name: { value: "D", auth: true },
  default_domain: { value: "d", auth: true },
  default_domain_id: { value: "d", auth: true },
  default_domain_name: { value: "D", auth: true },
  system_scope: { value: "all", auth: true },
  application_credential_id: { value: "c", auth: true, base: CREDENTIAL },
  application_credential_name: { value: "c", auth: true, base: CREDENTIAL },
  application_credential_secret: {
    ...{ value: "s2", auth: true },
    base: { ...CREDENTIAL, application_credential_id: "c" },
  },
  interface: { value: "internalURL", older: ["endpoint_type"] },
  region_name: { value: "two" },
  endpoint: { value: "http://said:1", auth: true },
  endpoint_override: { value: "http://said:1" },
  insecure: { value: "true" },
  verify: { value: "false" },
  cacert: { value: "~/ca.pem" },
  cert: { value: "~/own.pem" },
  key: { value: "~/own.key" },
  bare_metal_interface: { value: "internal", older: ["bare_metal_endpoint_type"] },
  ...Object.fromEntries(
    SERVICES.flatMap((service): [string, Spelled][] => [
      [`${service}_interface`, { value: "admin", older: [`${service}_endpoint_type`] }],
      [`${service}_region_name`, { value: "two" }],
      [`${service}_endpoint_override`, { value: "http://own:1", older: [`${service}_endpoint`] }],
    ]),
  ),
};

/** Known to openstacksdk, and they change who is asked or as whom. */
const REFUSED: { readonly [name: string]: string } = {
  ...{ trust_id: "t", baremetal_service_type: "metal", bare_metal_service_name: "ironic2" },
  ...Object.fromEntries(
    SERVICES.flatMap((service) => [
      [`${service}_service_type`, `${service}-legacy`],
      [`${service}_service_name`, "second"],
    ]),
  ),
};

/** Refused in a file: `auth` holds options of the login alone, as for keystoneauth. */
const REFUSED_IN_AUTH = ["passcode", "token", "auth_methods", "protocol", "identity_provider"];

/** Known, and about something else: versions, retries, and services that nobody asks here. */
const ELSEWHERE: { readonly [name: string]: unknown } = {
  ...{ floating_ip_source: "neutron", image_format: "qcow2", image_api_use_tasks: false },
  ...{ secgroup_source: "neutron", message: "m", status: "active", disable_vendor_agent: {} },
  ...{ networks: [{ name: "n" }], api_timeout: 10, timing: true, prefer_ipv6: false },
  ...{ force_ipv4: true, object_store_api_version: "1", identity_api_version: "2" },
  ...{ volume_interface: "internal", volume_endpoint_type: "internalURL", has_network: true },
  ...{ identity_interface: "admin", object_store_endpoint_override: "http://own:1" },
  ...Object.fromEntries(
    SERVICES.flatMap((service) => [
      [`${service}_api_version`, "2"],
      [`${service}_default_microversion`, "2.1"],
      [`${service}_connect_retries`, 3],
      [`${service}_status_code_retries`, 3],
    ]),
  ),
};

const dashed = (name: string): string => name.replaceAll("_", "-");
const variable = (name: string): string => `OS_${name.toUpperCase()}`;
const variables = (settings: object) =>
  Object.fromEntries(Object.entries(settings).map(([name, value]) => [variable(name), value]));
const without = (settings: object, name: string): object =>
  Object.fromEntries(Object.entries(settings).filter(([own]) => own !== name));

for (const [name, { value, older = [], auth, base = BASE }] of Object.entries(READ))
  test(`${name} is read in every spelling of it, and changes what is asked`, async (t) => {
    const file = fileOf(t);
    const asked = keystone(t);
    const rest = without(base, name);
    const login = { auth: rest, ...(name !== "region_name" && { region_name: "one" }) };
    const region = name === "region_name" ? {} : { OS_REGION_NAME: "one" };
    const said = await outcome(asked, () => file({ ...login, [name]: value }));
    assert.notDeepEqual(said, await outcome(asked, () => file({ region_name: "one", auth: base })));
    for (const spelled of [name, ...older]) {
      const env = { ...variables(rest), ...region, [variable(spelled)]: value };
      assert.deepEqual(await outcome(asked, () => environmentSettings(env)), said, spelled);
      for (const own of [spelled, dashed(spelled)]) {
        const root = await outcome(asked, () => file({ ...login, [own]: value }));
        assert.deepEqual(root, said, own);
        if (auth === undefined) continue;
        const inside = { ...login, auth: { ...rest, [own]: value } };
        assert.deepEqual(await outcome(asked, () => file(inside)), said, `auth: ${own}`);
      }
    }
  });

test("a setting that changes who is asked and is not read is refused by its name", async (t) => {
  const file = fileOf(t);
  const asked = keystone(t);
  for (const [name, value] of Object.entries(REFUSED)) {
    const env = { ...variables(BASE), [variable(name)]: value };
    const refused = new RegExp(`^${name.replace("bare_m", "barem")} is not supported`);
    assert.match(String(await outcome(asked, () => environmentSettings(env))), refused);
    for (const own of [name, dashed(name)]) {
      const said = String(await outcome(asked, () => file({ auth: BASE, [own]: value })));
      assert.match(said, refused, own);
    }
  }
  for (const name of [...REFUSED_IN_AUTH, "project", "user-domain"]) {
    const cloud = { auth: { ...BASE, [name]: "a-secret" } };
    const said = String(await outcome(asked, () => file(cloud)));
    assert.match(said, new RegExp(`^auth has ${name.replace("-", "_")}, which is not supported$`));
    const other = String(await outcome(asked, () => file({ ...cloud, auth_type: "v3totp" })));
    assert.match(other, /^auth_type v3totp is not one of/);
  }
});

test("a setting about something else changes nothing of what is asked", async (t) => {
  const file = fileOf(t);
  const asked = keystone(t);
  const said = await outcome(asked, () => file({ auth: BASE }));
  for (const [name, value] of Object.entries(ELSEWHERE)) {
    const env = { ...variables(BASE), [variable(name)]: String(value) };
    assert.deepEqual(await outcome(asked, () => environmentSettings(env)), said, name);
    for (const own of [name, dashed(name)])
      assert.deepEqual(await outcome(asked, () => file({ auth: BASE, [own]: value })), said, own);
  }
  const others = { volume_interface: "internal", volume_endpoint_type: "adminURL" };
  assert.deepEqual(await outcome(asked, () => file({ auth: BASE, ...others })), said);
});

test("two spellings of one setting that differ are refused, and no value is quoted", async (t) => {
  const file = fileOf(t);
  const asked = keystone(t);
  const both = (cloud: object) => outcome(asked, () => file({ auth: BASE, ...cloud }));
  for (const [cloud, why] of [
    [{ interface: "public", endpoint_type: "internalURL" }, "interface and endpoint_type differ"],
    [{ "tenant-name": "a-secret" }, "project_name differs inside and outside of auth"],
    [{ auth: { ...BASE, tenant_name: "q" } }, "project_name and tenant_name differ"],
  ] as const)
    assert.equal(await both(cloud), why);
  const agreed = { interface: "internal", endpoint_type: "internalURL", tenant_name: "p" };
  assert.deepEqual(await both(agreed), await both({ interface: "internal" }));
  for (const [name, value] of [
    ["interface", ["internal", "public"]],
    ["auth-url", { a: "b" }],
  ] as const)
    assert.equal(await both({ [name]: value }), `${name.replace("-", "_")} is not a single string`);
});

test("regions are taken with their own settings, the first or that of OS_REGION_NAME", async (t) => {
  const file = fileOf(t);
  const asked = keystone(t);
  const own = { name: "two", values: { "endpoint-type": "admin", auth: { "tenant-name": "q" } } };
  const regions = { auth: BASE, interface: "internal", regions: ["one", own] };
  const is = async (cloud: object, env: object, same: object): Promise<void> => {
    const said = await outcome(asked, () => file({ auth: BASE, ...same }));
    assert.deepEqual(await outcome(asked, () => file({ auth: BASE, ...cloud }, env)), said);
  };
  const two = { OS_REGION_NAME: "two" };
  await is(regions, {}, { region_name: "one", interface: "internal" });
  const other = { auth: { ...BASE, project_name: "q" }, interface: "admin", region_name: "two" };
  await is(regions, two, other);
  await is({ region_name: ["one", "two"] }, two, { region_name: "two" });
  await is({ "region-name": "one,two" }, {}, { region_name: "one" });
  await is({}, two, { region_name: "two" });
  for (const cloud of [{ region_name: "one" }, { regions: [{ name: "one" }] }])
    assert.equal(
      await outcome(asked, () => file({ auth: BASE, ...cloud }, two)),
      "it has no region two; it has one",
    );
});

test("a login goes to Keystone's v3, whatever version auth_url ends with", async (t) => {
  const asked = keystone(t);
  for (const path of ["", "/identity"])
    for (const version of ["", "/", "/v3", "/v3/", "/v2.0", "/v2.0/"]) {
      const auth_url = `${KEYSTONE}${path}${version}`;
      await outcome(asked, () => environmentSettings(variables({ ...BASE, auth_url })));
      assert.equal(asked[0]?.url, `${KEYSTONE}${path}/v3/auth/tokens`, auth_url);
    }
});

test("an endpoint is used at the version that is spoken, whatever it ends with", async (t) => {
  keystone(t);
  const urlOf = async (kind: (typeof KINDS)[number], url: string): Promise<string> => {
    const own = { ...BASE, [`${kind.name}_endpoint_override`]: `http://v2/api${url}` };
    const cloud = cloudOf(environmentSettings(variables(own)), "the cloud");
    const session = await openSession(cloud, 1000, kind);
    session.close();
    return session.url;
  };
  for (const url of ["", "/", "/v2", "/v2.0/", "/v2.1", "/v2.1/"])
    assert.equal(await urlOf(COMPUTE, url), "http://v2/api/v2.1", url);
  for (const url of ["/v2/p-1", "/v2.1/p-1", "/v2.1/%(project_id)s"])
    assert.equal(await urlOf(COMPUTE, url), "http://v2/api/v2.1/p-1", url);
  for (const url of ["", "/", "/v1", "/v2", "/v2.0", "/v2/"])
    for (const kind of [IMAGE, NETWORK]) assert.equal(await urlOf(kind, url), "http://v2/api", url);
  for (const url of ["", "/", "/v1", "/v1/"])
    assert.equal(await urlOf(BAREMETAL, url), "http://v2/api", url);
});

test("a number in clouds.yaml is the text that stands there", (t) => {
  const folder = privateFolder(t);
  const text = "clouds: {c: {auth: {password: 0123456, username: 1e3}, region_name: 1.0}}";
  writeFileSync(join(folder, "clouds.yaml"), text);
  const { settings } = cloudSettings("c", { HOME: folder }, folder);
  const read = ["password", "username", "region_name"].map((name) => settings.get(name));
  assert.deepEqual(read, ["0123456", "1e3", "1.0"]);
});

test("a redirection names where to, without what is secret in it", async (t) => {
  const asked = keystone(t);
  const location = "https://user:a-secret@new:5000/v3/auth/tokens?state=a-secret";
  const redirects = { status: 301, headers: { location }, text: "<p>Moved</p>" };
  const cloud = cloudOf(environmentSettings(variables(BASE)), "the cloud");
  const session = await openSession(cloud, 1000);
  t.after(session.close);
  const own = "http://baremetal.public.one";
  answerHere(own, () => Promise.resolve(redirects));
  t.after(() => answerHere(own, null));
  const { fault } = await session.call({ method: "GET", path: "/v1/nodes" });
  assert.equal(fault, "301 redirects to https://new:5000/v3/auth/tokens");
  answerHere(KEYSTONE, () => Promise.resolve(redirects));
  await assert.rejects(
    openSession(cloud, 1000),
    /^MigrationError: Keystone at http:\/\/keystone:5000 answers 301: redirects to https:\/\/new:5000\/v3\/auth\/tokens$/,
  );
  assert.equal(asked.length, 1);
});
