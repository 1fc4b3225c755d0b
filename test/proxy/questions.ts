/** Nodes that are there: one as usual, one without properties. */
export const NODES = {
  usual: "c0ffee00-0000-4000-8000-00000000000a",
  bare: "c0ffee00-0000-4000-8000-00000000000b",
  unknown: "c0ffee00-0000-4000-8000-00000000000c",
} as const;

export type Who =
  | "admin"
  | "member"
  | "reader"
  | "application"
  | "restricted"
  | "system"
  | "revoked"
  | "ending"
  | "forged"
  | "nobody";

/** A request for Nova and for the proxy, and where their answers are to differ. */
export interface Queried {
  readonly line: string;
  readonly who: Who;
  readonly fields?: { readonly [name: string]: string };
  readonly body?: string;
  /** Why the proxy does not answer as Nova does, and with what status. */
  readonly differs?: { readonly status: number; readonly why: string };
  /** With --nova-compat there is no difference. */
  readonly compat?: boolean;
}

const LIST = "/v2.1/os-baremetal-nodes";
const SHOW = `${LIST}/${NODES.usual}`;
const MODERN = "OpenStack-API-Version";
const LEGACY = "X-OpenStack-Nova-API-Version";

const FAILS = "Nova 26 has no answer for what its client of Ironic throws";
const WRITES = "the specification wants 404 of every command that writes";
const NEWEST = "the newest version that Nova has is named; this API ends at 2.35";

const OTHERS: readonly Who[] = [
  ...(["member", "reader", "application", "restricted", "system"] as const),
  ...(["revoked", "forged", "nobody"] as const),
];

/** @param project of the administrator's token */
export function questions(project: string): readonly Queried[] {
  const who: Who = "admin";
  const admin = (line: string, more: Partial<Queried> = {}): Queried => ({ line, who, ...more });
  const at = (name: string, version: string, more: Partial<Queried> = {}): Queried =>
    admin(`GET ${LIST}`, { fields: { [name]: version }, ...more });
  const write = (line: string, body?: string, who: Who = "admin"): Queried => ({
    ...{ line, who, compat: true, differs: { status: 404, why: WRITES } },
    ...(body !== undefined && { body, fields: { "Content-Type": "application/json" } }),
  });
  const fails = (id: string, status: number): Queried =>
    admin(`GET ${LIST}/${id}`, { differs: { status, why: FAILS } });
  return [
    admin(`GET ${LIST}`),
    admin(`GET /v2.1/${project}/os-baremetal-nodes`),
    admin("GET /v2/os-baremetal-nodes"),
    admin(`GET /v2/${project}/os-baremetal-nodes`),
    admin(`GET ${LIST}?limit=1&marker=x&nonsense`),
    at(MODERN, "compute 2.1"),
    at(MODERN, "compute 2.35"),
    at(MODERN, "compute 2.36"),
    at(MODERN, "compute latest", { differs: { status: 404, why: NEWEST } }),
    at(MODERN, "compute 9.9", { differs: { status: 406, why: NEWEST } }),
    at(MODERN, "compute x"),
    at(MODERN, "baremetal 1.50"),
    at(MODERN, "baremetal 1.50, compute 2.7"),
    at(LEGACY, "2.10"),
    at(LEGACY, "2.36"),
    at(LEGACY, "2.0", { differs: { status: 406, why: NEWEST } }),
    at(LEGACY, "2.01"),
    at(LEGACY, "2.94", { differs: { status: 404, why: NEWEST } }),
    admin(`GET ${LIST}`, { fields: { [MODERN]: "compute 2.2", [LEGACY]: "2.3" } }),
    admin("GET /v2/os-baremetal-nodes", { fields: { [MODERN]: "compute 2.36" } }),
    admin(`GET ${SHOW}`),
    admin(`GET ${SHOW}`, { fields: { [MODERN]: "compute 2.35" } }),
    admin(`GET ${SHOW}`, { fields: { [MODERN]: "compute 2.36" } }),
    admin(`GET /v2/os-baremetal-nodes/${NODES.usual}`),
    admin(`GET ${LIST}/${NODES.bare}`),
    admin(`GET ${LIST}/${NODES.unknown}`),
    admin(`GET ${LIST}/1`),
    fails("usual-name", 200),
    fails("detail", 404),
    fails("a%20b", 404),
    write(`POST ${LIST}`, "{}"),
    write(`POST ${LIST}`, "{}", "member"),
    write(`DELETE ${SHOW}`),
    write(`POST ${SHOW}/action`, '{"add_interface": {"address": "52:54:00:00:00:01"}}'),
    write(`POST ${SHOW}/action`, '{"remove_interface": {"address": "52:54:00:00:00:01"}}'),
    write(`POST ${SHOW}/action`, '{"nonsense": null}'),
    write(`POST ${SHOW}/action`, "no JSON"),
    admin(`PUT ${SHOW}`, { body: "{}", fields: { "Content-Type": "application/json" } }),
    admin(`PATCH ${SHOW}`, { body: "{}", fields: { "Content-Type": "application/json" } }),
    admin(`GET ${LIST}/`),
    admin(`GET ${SHOW}/deeper`),
    admin(`HEAD ${LIST}`),
    admin(`HEAD ${SHOW}`),
    admin(`OPTIONS ${LIST}`),
    ...OTHERS.flatMap((who) => [LIST, SHOW].map((path) => ({ line: `GET ${path}`, who }))),
    { line: `GET /v2.1/${project}/os-baremetal-nodes`, who: "member" },
    { line: `GET /v2.1/${"f".repeat(32)}/os-baremetal-nodes`, who: "admin" },
    { line: `GET ${LIST}`, who: "member", fields: { [MODERN]: "compute 2.36" } },
  ];
}
