import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { HeaderFields, TokenOwner } from "../../../src/model/served.ts";
import { decide, REQUESTED } from "../../../src/proxy/rules/decide.ts";
import { anyText } from "../../support/any-text.ts";
import { holds } from "../../support/seeded.ts";
import { ADMIN, asked, MEMBER, NODE, PROJECT, RULES } from "./asked.ts";

const BASE = "/v2.1/os-baremetal-nodes";
const GONE = { itemNotFound: { code: 404, message: "The resource could not be found." } };
const ROUTER = {
  message: "The resource could not be found.<br /><br />\n\n\n",
  code: "404 Not Found",
  title: "Not Found",
};

interface More {
  readonly who?: TokenOwner;
  readonly rules?: Partial<typeof RULES>;
  readonly fields?: HeaderFields;
  readonly body?: string;
}

/** `list`, `show UUID`, or a status and a body. */
function outcome(line: string, { who = ADMIN, rules = {}, fields, body }: More = {}): unknown {
  const decision = decide(asked(line, fields, body), who, { ...RULES, ...rules });
  if ("do" in decision)
    return decision.do === "list" ? "list" : `show ${decision.ident.is} ${decision.ident.text}`;
  const { status, body: said } = decision;
  assert.ok(typeof said === "string");
  return [status, said === "" ? "" : JSON.parse(said)];
}

function fault(status: number, word: string, message: string): unknown {
  return [status, { [word]: { code: status, message } }];
}

const badRequest = (message: string): unknown => fault(400, "badRequest", message);

test("a list and a show are asked for by every path of Nova's, and by no other", () => {
  for (const version of ["v2", "v2.1"])
    for (const project of ["", `/${PROJECT}`]) {
      const path = `/${version}${project}/os-baremetal-nodes`;
      assert.equal(outcome(`GET ${path}`), "list");
      assert.equal(outcome(`GET ${path}/${NODE}`), `show uuid ${NODE}`);
      assert.deepEqual(outcome(`OPTIONS ${path}`), [200, ""]);
      assert.deepEqual(outcome(`GET ${path}/`), [404, ROUTER]);
      assert.deepEqual(outcome(`GET ${path}/${NODE}/ports`), [404, ROUTER]);
      assert.deepEqual(outcome(`GET ${path}/${NODE}/action`), [404, ROUTER]);
      for (const method of ["HEAD", "PUT", "PATCH"])
        for (const one of [path, `${path}/${NODE}`])
          assert.deepEqual(outcome(`${method} ${one}`), [404, ROUTER]);
    }
  for (const path of ["", "v2.1/servers", "v3/os-baremetal-nodes", "v2.1/a/b/os-baremetal-nodes"])
    assert.deepEqual(outcome(`GET /${path}`), [404, ROUTER], path);
});

const WRITES = [`POST ${BASE}`, `DELETE ${BASE}/${NODE}`, `POST ${BASE}/${NODE}/action`] as const;
const ADD_INTERFACE = '{"add_interface": {"address": "52:54:00:00:00:01"}}';

test("what changes something is 404 whatever the body and the role", () => {
  for (const line of WRITES)
    for (const who of [ADMIN, MEMBER])
      for (const body of ["", "{}", ADD_INTERFACE, "no JSON"])
        assert.deepEqual(outcome(line, { who, body }), [404, GONE]);
});

test("with Nova's own answers it is 400, in Nova's words", () => {
  const said = (line: string, body = ""): unknown =>
    outcome(line, { who: MEMBER, rules: { novaCompat: true }, body });
  const please = (command: string) =>
    `Please use Ironic command ${command} to perform this action.`;
  const instead = (command: string) => badRequest(`Command Not supported. ${please(command)}`);
  const [create, remove, action] = WRITES;
  assert.deepEqual(said(create, '{"node": {}}'), instead("node-create"));
  assert.deepEqual(said(remove), instead("node-delete"));
  assert.deepEqual(said(action, '{"add_interface": {}}'), instead("port-create"));
  assert.deepEqual(said(action, '{"remove_interface": {}}'), instead("port-delete"));
  const unknown = badRequest("There is no such action: nonsense");
  assert.deepEqual(said(action, '{"nonsense": 1}'), unknown);
  for (const body of ["", "{", "{}", "[]", '{"add_interface": 1, "b": 2}'])
    assert.deepEqual(said(action, body), badRequest("Malformed request body"), body);
});

test("with Nova's own answers its order is Nova's: what is asked, the project, the version, the command", () => {
  const [, , action] = WRITES;
  const said = (line: string, body: string, version = "2.36"): unknown => {
    const fields = { "openstack-api-version": `compute ${version}` };
    return outcome(line, { rules: { novaCompat: true }, fields, body });
  };
  const command = '{"add_interface": {}}';
  const status = (answer: unknown): unknown => (Array.isArray(answer) ? answer[0] : answer);
  for (const line of WRITES) {
    assert.deepEqual(said(line, command), [404, GONE], line);
    const elsewhere = line.replace("/v2.1/", "/v2.1/other/");
    for (const version of ["2.1", "2.36"])
      assert.match(JSON.stringify(said(elsewhere, command, version)), /Malformed request URL/);
    assert.equal(status(said(line, command, "2.35")), 400);
  }
  const elsewhere = action.replace("/v2.1/", "/v2.1/other/");
  for (const [body, why] of [
    ['{"nonsense": 1}', "There is no such action: nonsense"],
    ["{", "Malformed request body"],
  ] as const)
    assert.deepEqual(said(elsewhere, body), badRequest(why));
});

test("who is not allowed to is told by which rule, and the other rule is not his", () => {
  const says = (rule: string): unknown => {
    const name = `os_compute_api:os-baremetal-nodes:${rule}`;
    return fault(403, "forbidden", `Policy doesn't allow ${name} to be performed.`);
  };
  assert.deepEqual(outcome(`GET ${BASE}`, { who: MEMBER }), says("list"));
  assert.deepEqual(outcome(`GET ${BASE}/${NODE}`, { who: MEMBER }), says("show"));
  assert.deepEqual(outcome(`GET ${BASE}/no%20node`, { who: MEMBER }), says("show"));
  const rules = { allows: (rule: object) => rule === REQUESTED.list };
  assert.equal(outcome(`GET ${BASE}`, { rules }), "list");
  assert.deepEqual(outcome(`GET ${BASE}/${NODE}`, { rules }), says("show"));
});

test("another project in the path is refused, unless there are no projects", () => {
  const path = "GET /v2.1/other/os-baremetal-nodes";
  const says = (own: string): string =>
    `Malformed request URL: URL's project_id 'other' doesn't match Context's project_id '${own}'`;
  assert.deepEqual(outcome(path), badRequest(says(PROJECT)));
  const who = { ...ADMIN, project_id: null, system_scope: "all" };
  assert.deepEqual(outcome(path, { who }), badRequest(says("None")));
  assert.equal(outcome(path, { rules: { scoped: false } }), "list");
  const odd = outcome("GET /v2.1/%zz/os-baremetal-nodes");
  assert.deepEqual(odd, badRequest(says(PROJECT).replace("other", "%zz")));
});

test("a microversion is understood from both headers, and 2.36 and later have no such API", () => {
  const at = (version: string, path = BASE): readonly unknown[] =>
    [
      { "openstack-api-version": `compute ${version}` },
      { "x-openstack-nova-api-version": version },
    ].map((fields) => outcome(`GET ${path}`, { fields }));
  const both = (one: unknown): readonly unknown[] => [one, one];
  for (const served of ["2.1", "2.9", "2.35"]) assert.deepEqual(at(served), both("list"));
  for (const gone of ["2.36", "2.93", "2.999", "latest"])
    assert.deepEqual(at(gone), both([404, GONE]), gone);
  for (const bad of ["x", "2", "2.01", "2.1.1", "-1.2"]) {
    const invalid = "is of invalid format. Must be of format MajorNum.MinorNum.";
    assert.deepEqual(at(bad), both(badRequest(`API Version String ${bad} ${invalid}`)));
  }
  for (const version of ["2.0", "1.1", "9.9"]) {
    const unknown = "is not supported by the API. Minimum is 2.1 and maximum is 2.35.";
    const answer = fault(406, "computeFault", `Version ${version} ${unknown}`);
    assert.deepEqual(at(version), both(answer));
  }
  assert.deepEqual(at("2.36", "/v2/os-baremetal-nodes"), both("list"));
  const fields = { "openstack-api-version": "volume 3.1, compute 2.36, baremetal x" };
  assert.deepEqual(outcome(`GET ${BASE}`, { fields }), [404, GONE]);
  const shouted = { "openstack-api-version": "COMPUTE 2.36" };
  assert.deepEqual(outcome(`GET ${BASE}`, { fields: shouted }), [404, GONE]);
  const volume = { "openstack-api-version": "volume 9.9" };
  assert.equal(outcome(`GET ${BASE}`, { fields: volume }), "list");
});

test("the version goes back with every answer of /v2.1, and with none of /v2", () => {
  const fieldsOf = (line: string): unknown => decide(asked(line), ADMIN, RULES).fields;
  const spoken = {
    "OpenStack-API-Version": "compute 2.1",
    "X-OpenStack-Nova-API-Version": "2.1",
    Vary: ["OpenStack-API-Version", "X-OpenStack-Nova-API-Version"],
  };
  assert.deepEqual(fieldsOf(`GET ${BASE}`), spoken);
  assert.deepEqual(fieldsOf(`POST ${BASE}`), { "Content-Type": "application/json", ...spoken });
  assert.deepEqual(fieldsOf("GET /v2/os-baremetal-nodes"), {});
});

test("a node is asked for by uuid, name or the old number, and by nothing that is no form of a name", () => {
  const show = (id: string): unknown => outcome(`GET ${BASE}/${id}`);
  assert.equal(show("node-7.rack_1~b"), "show name node-7.rack_1~b");
  assert.equal(show("node%2D7"), "show name node-7");
  assert.equal(show("node-7.json"), "show name node-7.json");
  assert.equal(show("1"), `show uuid ${NODE}`);
  assert.equal(show("2"), "show name 2");
  const plain = ["detail", "detail.json", "states.json.json", ".json", "..json", "states"];
  const encoded = { "a%2Fb": "a/b", "%2e%2e": "..", "no%20node": "no node", "a%00b": "a\0b" };
  const same = [...plain, "%zz", "a?b", "x".repeat(256)].map((id) => [id, id] as const);
  for (const [id, name] of [...same, ...Object.entries(encoded)])
    assert.deepEqual(show(id), fault(404, "itemNotFound", `Node ${name} could not be found.`), id);
});

test("whatever is asked for has an answer, and only an ident of Ironic's goes on", () => {
  const methods = ["GET", "HEAD", "POST", "PUT", "DELETE", "constructor", "__proto__"];
  const method = fc.constantFrom(...methods);
  const part = fc.oneof(anyText, fc.constantFrom("v2.1", "v2", "os-baremetal-nodes", "..", "%"));
  const path = fc.oneof(
    fc.array(part).map((parts) => `/${parts.join("/")}`),
    part.map((id) => `${BASE}/${id}`),
    part.map((id) => `${BASE}/${encodeURIComponent(id.replaceAll(/\p{Surrogate}/gu, ""))}`),
  );
  const version = fc.oneof(anyText, fc.constant("compute 2.1"));
  const fields = fc.record({ "openstack-api-version": version });
  holds(100, method, path, fields, anyText, (name, where, said, body) => {
    const one = { ...asked("", said, body), method: name, path: where };
    for (const novaCompat of [true, false]) {
      const decision = decide(one, ADMIN, { ...RULES, novaCompat });
      if ("do" in decision) {
        if (decision.do === "show") assert.match(decision.ident.text, /^[\w.~-]{1,255}$/);
        continue;
      }
      assert.ok(decision.status >= 200 && decision.status < 500);
      if (decision.body !== "") JSON.parse(String(decision.body));
    }
  });
});
