import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { type TestContext, test } from "node:test";
import { loadMappings } from "../../../src/migrate/open/documents.ts";
import { createSeal } from "../../../src/run/files/seal.ts";
import { pages, rowsOf } from "../../../src/systems/ironic-api/body.ts";
import { remove } from "../../../src/systems/ironic-api/remove.ts";
import { openService } from "../../../src/systems/ironic-api/service.ts";
import { type Cloud, cloudOf } from "../../../src/systems/openstack/cloud.ts";
import { withoutSecrets } from "../../../src/systems/openstack/http.ts";
import { refuses, says } from "../../manage/in-memory.ts";
import { faultyService } from "../../support/faulty-service.ts";

const SPOKEN = "X-OpenStack-Ironic-API-Version";

interface Specified {
  readonly status: number;
  readonly text: string;
  /** Microversion it says it speaks; the one asked for without it. */
  readonly version?: string;
}

/** A service of 2023.1 that says to a call what the test has for it. */
async function service(t: TestContext, is: (call: string, nth: number) => Specified | null) {
  const counts = new Map<string, number>();
  const { url, use } = await faultyService(t, {
    most: 82,
    answer: () => ({ status: 200, text: "{}" }),
  });
  use((call) => {
    const nth = (counts.get(call) ?? 0) + 1;
    counts.set(call, nth);
    const said = is(call, nth);
    if (said?.version === undefined) return said && { done: false, says: said };
    return { done: false, between: true, says: { ...said, fields: { [SPOKEN]: said.version } } };
  });
  const { releases, rest } = await loadMappings();
  const cloud = cloudSaying({ endpoint: url });
  const opened = await openService(cloud, releases, rest, "2023.1", 5000);
  t.after(() => opened.session.close());
  return opened;
}

function cloudSaying(settings: { readonly [name: string]: string }): Cloud {
  return cloudOf(new Map(Object.entries(settings)), "OS_*");
}

const refusal = (code: string, message: RegExp) => ({ code, message });

test("the version a service answers in is looked at, though its first answer is a 503", async (t) => {
  const opening = service(t, (call, nth) => {
    if (!call.startsWith("GET /v1/nodes")) return null;
    return nth === 1 ? { status: 503, text: "" } : { status: 200, text: "{}", version: "1.1" };
  });
  const why = /microversion 1\.1, but the request had 1\.82/;
  await assert.rejects(opening, refusal("N2I-E209", why));
});

test("a login of another scope than Ironic wants is refused at once, though Ironic calls it an error", async (t) => {
  const why = `"baremetal:node:list": "role:reader" requires a scope of ['system'], request was made with project scope.`;
  let asked = 0;
  const opening = service(t, (call) => {
    if (!call.startsWith("GET /v1/nodes")) return null;
    asked += 1;
    return refuses(500, why);
  });
  await assert.rejects(opening, refusal("N2I-E211", /requires a scope of \['system'\]/));
  assert.equal(asked, 1);
});

test("a proxy that has nobody behind it for a moment is asked again, before anything is pinned", async (t) => {
  const { minor, identity } = await service(t, (_call, nth) =>
    nth === 1 ? { status: 404, text: "default backend - 404", version: "" } : null,
  );
  assert.deepEqual([minor, identity.server], [82, "OpenStack Ironic API 1.1-1.82"]);
});

test("a success in another version is not one, so somebody looks what was done", async (t) => {
  const opened = await service(t, (call) =>
    call.startsWith("DELETE") ? { status: 204, text: "", version: "1.1" } : null,
  );
  const { status, fault } = await opened.send("DELETE", "/v1/nodes/a");
  const why = "its response has microversion 1.1, but the request had 1.82";
  assert.deepEqual([status, fault], [0, why]);
});

test("a page that is not JSON does not say that a node is gone", async (t) => {
  const opened = await service(t, (call, nth) =>
    call === "GET /v1/nodes/a"
      ? { status: 200, text: nth === 1 ? "<html>Log in</html>" : '{"uuid": "a"}' }
      : null,
  );
  assert.deepEqual(await opened.ask("/v1/nodes/a"), { uuid: "a" });
});

test("a list that ends with 404 is refused, whether its marker, its node or its API is missing", async (t) => {
  const opened = await service(t, (call) => {
    if (/marker|volume/.test(call)) return { status: 404, text: "{}" };
    return says(200, { nodes: [{ uuid: "a" }], next: "more" });
  });
  const list = async (collection: string, query = ""): Promise<void> => {
    for await (const page of pages(opened, collection, query)) assert.ok(page);
  };
  await assert.rejects(list("nodes"), refusal("N2I-E212", /nodes: the last object of the prev/));
  const why = /404 for .*connectors with .* 1\.82: the API does not .*, or the node was d/;
  await assert.rejects(list("volume/connectors", "&node=b"), refusal("N2I-E212", why));
});

test("an auth_url that is none is refused and not quoted", () => {
  const login = { username: "u", password: "p" };
  for (const auth_url of ["keystone:5000/v3", "http://u:a-secret@host/v3", "ftp://host/", "v3"])
    assert.throws(
      () => cloudSaying({ ...login, auth_url }),
      refusal("N2I-E106", /^(?!.*a-secret).*auth_url is not http/),
    );
});

test("certificates go unchecked only where a word says so", () => {
  const { insecure } = cloudSaying({ verify: "/etc/ssl/lab.pem" }).tls;
  assert.equal(insecure, false);
  assert.equal(cloudSaying({ verify: "false" }).tls.insecure, true);
  assert.equal(cloudSaying({ insecure: "True" }).tls.insecure, true);
});

test("a secret is hidden as JSON writes it, too", () => {
  const hidden = withoutSecrets('{"ipmi_password": "a\\"b1"}', ['a"b1']);
  assert.equal(hidden, '{"ipmi_password": "****"}');
});

test("a rollback of ports whose node was there before deletes no other port of it", async (t) => {
  const calls: string[] = [];
  const port = (uuid: string) => ({ uuid, node_uuid: "a", address: "52:54:00:00:00:01" });
  const isPresent = ({ uuid }: { readonly uuid: string }) =>
    !calls.includes(`DELETE /v1/ports/${uuid}`);
  const opened = await service(t, (call) => {
    if (!call.startsWith("GET")) calls.push(call);
    if (call === "GET /v1/nodes/a") return { status: 200, text: '{"uuid": "a"}' };
    const ports = [port("theirs"), port("ours")].filter(isPresent);
    return call.startsWith("GET /v1/ports") ? says(200, { ports }) : null;
  });
  const { rest } = await loadMappings();
  const rows = rowsOf(rest, opened.minor, createSeal(randomBytes(32)));
  const link = { service: opened, rows };
  const machine = { uuid: "a", node: null, ports: [port("ours")] };
  const { done } = await remove(link, machine, new Map());
  assert.deepEqual(done, ["port:ours"]);
  assert.deepEqual(calls, ["DELETE /v1/ports/ours"]);
});
