import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { assertRefusal } from "../hostile/cli.ts";
import { faultyProxy } from "../lab/ironic/faulty.ts";
import { fakeKeystone } from "../lab/ironic/keystone.ts";
import { needsIronic } from "../lab/ironic/with-ironic.ts";
import { authority } from "../support/certificates.ts";
import { ADOPTED, adoption, NOTHING } from "./adoption.ts";

const SECRET = "a-secret-of-the-cloud";
const HERE = "IP:127.0.0.1";

test("services behind TLS are adopted into with their own authority, and each fault of a certificate is told", async (t) => {
  const ironic = await needsIronic(t);
  const ca = authority(t);
  const good = ca.signs(HERE, 1);
  const proxy = await faultyProxy(ironic.url, t, good);
  const keystone = await fakeKeystone(t, SECRET, proxy.url, good);
  const login = {
    ...{ OS_AUTH_URL: keystone.url, OS_INTERFACE: "internal", OS_REGION_NAME: "lab" },
    ...{ OS_USERNAME: "mover", OS_PASSWORD: SECRET, HOME: "/nonexistent" },
  };
  const at = await adoption(t, ironic, [], { HOME: "/nonexistent" });
  const cacert = { OS_CACERT: ca.file };
  await at.does(0, "plan", ["--via", "rest"], { ...login, ...cacert });
  await at.does(0, "apply", ["--via", "rest", "--yes"], { ...login, ...cacert });
  assert.deepEqual(await at.there(), ADOPTED);
  const clouds = join(at.folder, "clouds.yaml");
  const auth = { auth_url: keystone.url, username: "mover", password: SECRET };
  const lab = { auth, interface: "internal", region_name: "lab", verify: false };
  writeFileSync(clouds, JSON.stringify({ clouds: { lab } }), { mode: 0o600 });
  const unlooked = await at.does(0, "rollback", ["--os-cloud", "lab", "--all", "--yes"], {
    OS_CLIENT_CONFIG_FILE: clouds,
  });
  assert.match(unlooked.err, /Warning: .* has insecure: certificates are not checked/);
  assert.deepEqual(await at.there(), NOTHING);

  const refuses = async (
    words: RegExp,
    options: readonly string[],
    env: { readonly [name: string]: string } = cacert,
  ): Promise<void> => {
    const refused = await at.does(1, "plan", options, env);
    assertRefusal(refused, 1, "N2I-E213", words);
    assert.doesNotMatch(refused.err + refused.out, new RegExp(SECRET));
  };
  const unsigned = /not signed by a trusted CA.*\n(.*\n)*.*Fix: .*OS_CACERT/;
  await refuses(unsigned, ["--via", "rest"], login);
  const direct = ["--ironic-url", proxy.url];
  await refuses(/not signed by a trusted CA/, direct, {});
  const localhost = proxy.url.replace("127.0.0.1", "localhost");
  await refuses(/is for a different name/, ["--ironic-url", localhost]);
  proxy.shows(ca.signs(HERE, -1));
  await refuses(/has expired/, direct);
  await refuses(/does not use TLS/, ["--ironic-url", ironic.url.replace("http:", "https:")]);
  const wrong = join(at.folder, "wrong.pem");
  writeFileSync(wrong, "no certificate");
  const unread = await at.does(64, "plan", [...direct, "--os-cacert", wrong]);
  assertRefusal(unread, 64, "N2I-E106", /wrong\.pem contains no certificate/);
});
