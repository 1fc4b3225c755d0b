import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { TestContext } from "node:test";
import { listening } from "../support/listening.ts";

type Test = Pick<TestContext, "after">;

/** What a token is good for. */
interface Right {
  readonly roles: readonly string[];
  readonly project?: string;
  readonly system?: true;
  /** Seconds from now. */
  readonly expires?: number;
  /** What its catalog has of the bare metal service. */
  readonly baremetal?: string;
}

export const PROJECT = "5b2d4f0a9c1e4b7f8a6d3c2e1f0a9b8c";

/**
 * Keystone's answers about a caller's own token.
 *
 * @source Keystone's API reference, v3: GET /v3/auth/tokens
 */
export async function standInKeystone(t: Test) {
  const tokens = new Map<string, Right>();
  const asked: string[] = [];
  /** In place of an answer; null: as usual. */
  const refuse = null as { readonly status: number; readonly text: string } | null;
  const own = { url: "", tokens, asked, refuse };
  const server = createServer((request, response) => {
    const [by, about] = ["x-auth-token", "x-subject-token"].map((name) => request.headers[name]);
    const token = typeof by === "string" ? by : "";
    const right = tokens.get(token);
    if (token !== "") asked.push(token);
    const give = (status: number, body: unknown): void => send(response, status, body);
    if (own.refuse !== null) return void response.writeHead(own.refuse.status).end(own.refuse.text);
    if (request.url === "/v3/") return give(200, { version: { id: "v3.14" } });
    if (!request.url?.startsWith("/v3/auth/tokens")) return give(404, { error: { code: 404 } });
    if (right === undefined) return give(401, { error: { code: 401, title: "Unauthorized" } });
    if (by !== about) return give(403, { error: { code: 403, message: "of somebody else" } });
    give(200, { token: tokenOf(right) });
  });
  own.url = await listening(t, server);
  return own;
}

export type StandInKeystone = Awaited<ReturnType<typeof standInKeystone>>;

function tokenOf({ roles, project = PROJECT, system, expires = 3600, baremetal }: Right): object {
  const endpoint = (face: string, url: string) => ({ interface: face, region_id: "one", url });
  const endpoints =
    baremetal === undefined
      ? []
      : [endpoint("admin", "http://127.0.0.1:1"), endpoint("public", `${baremetal}/v1`)];
  return {
    user: { id: "u", domain: { id: "default" } },
    roles: roles.map((name) => ({ id: name, name })),
    expires_at: new Date(Date.now() + expires * 1000).toISOString(),
    ...(system
      ? { system: { all: true } }
      : { project: { id: project, domain: { id: "default" } } }),
    catalog: [{ type: "baremetal", endpoints }],
  };
}

export interface StandInIronic {
  readonly url: string;
  readonly nodes: { readonly [field: string]: unknown }[];
  /** What was asked, with its fields. */
  readonly calls: { readonly path: string; readonly fields: IncomingMessage["headers"] }[];
  /** Ports of every node. */
  ports: number;
  /** Things of a page. */
  page: number;
  /** Whether it goes on behind the marker it is given. */
  markers: boolean;
  /** Whether nodes are for those with a token. */
  login: boolean;
  /** Its highest microversion; null: Juno. */
  most: number | null;
  /** Before each answer. */
  before: (path: string) => Promise<void> | void;
}

export function uuidOf(at: number): string {
  return `c0ffee00-0000-4000-8000-${String(at).padStart(12, "0")}`;
}

export function nodeOf(at: number): { readonly [field: string]: unknown } {
  return {
    uuid: uuidOf(at),
    name: `node-${at}`,
    provision_state: "active",
    instance_uuid: null,
    owner: null,
    lessee: null,
    properties: { cpus: 4, memory_mb: 4096, local_gb: 40, cpu_arch: "x86_64" },
  };
}

/** An Ironic with so many nodes, in memory. @source facts: ironic 4.1; measured on Ironic 21.4 */
export async function standInIronic(t: Test, nodes: number): Promise<StandInIronic> {
  const own: StandInIronic = {
    ...{ url: "", calls: [], ports: 1, page: 1000, most: 82, markers: true, login: true },
    nodes: Array.from({ length: nodes }, (_, at) => nodeOf(at + 1)),
    before: () => undefined,
  };
  const server = createServer(async (request, response) => {
    const path = request.url ?? "";
    own.calls.push({ path, fields: request.headers });
    await own.before(path);
    const at = new URL(path, "http://ironic");
    const version = request.headers["x-openstack-ironic-api-version"];
    if (own.most !== null) {
      response.setHeader("X-OpenStack-Ironic-API-Minimum-Version", "1.1");
      response.setHeader("X-OpenStack-Ironic-API-Maximum-Version", `1.${own.most}`);
      response.setHeader("X-OpenStack-Ironic-API-Version", version ?? "1.1");
    }
    const unknown = own.most !== null && Number(String(version).split(".")[1]) > own.most;
    if (unknown) return send(response, 406, fault(`Version ${String(version)} is not supported`));
    send(response, ...answer(own, at, request.headers["x-auth-token"]?.toString()));
  });
  return Object.assign(own, { url: await listening(t, server) });
}

type Specified = readonly [status: number, body: unknown];
type Thing = StandInIronic["nodes"][number];

function answer(own: StandInIronic, at: URL, token: string | undefined): Specified {
  const [, , kind = "", id] = at.pathname.split("/");
  if (kind === "") return [200, { id: "v1", nodes: [], ports: [] }];
  if (own.login && token === undefined)
    return [401, { error: { code: 401, title: "Unauthorized" } }];
  if (kind === "ports") {
    const ports = Array.from({ length: own.ports }, (_, port) => ({
      uuid: uuidOf(port + 1),
      address: `52:54:00:00:${hex(port >> 8)}:${hex(port & 255)}`,
    }));
    return page(own, ports, at, "ports");
  }
  if (id === undefined || id === "detail") return page(own, own.nodes, at, "nodes");
  const node = own.nodes.find(({ uuid, name }) => uuid === id || name === id);
  return node === undefined ? [404, fault(`Node ${id} could not be found.`)] : [200, node];
}

function page(
  own: StandInIronic,
  all: readonly Thing[],
  at: URL,
  name: "nodes" | "ports",
): Specified {
  const marker = own.markers ? at.searchParams.get("marker") : null;
  const from = marker === null ? 0 : all.findIndex(({ uuid }) => uuid === marker) + 1;
  if (marker !== null && from === 0) return [404, fault(`Node ${marker} could not be found.`)];
  const items = all.slice(from, from + own.page);
  const next = `${own.url}/v1/${name}?limit=${own.page}&marker=${String(items.at(-1)?.uuid)}`;
  return [200, { [name]: items, ...(items.length === own.page && { next }) }];
}

function hex(byte: number): string {
  return byte.toString(16).padStart(2, "0");
}

/** As Ironic words an error: JSON in JSON. */
function fault(faultstring: string): object {
  return { error_message: JSON.stringify({ faultcode: "Client", faultstring, debuginfo: null }) };
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(body));
}
