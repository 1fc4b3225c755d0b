import type { HeaderFields, ServedRequest, TokenOwner } from "../../../src/model/served.ts";
import type { decide } from "../../../src/proxy/rules/decide.ts";

export const PROJECT = "5b2d4f0a9c1e4b7f8a6d3c2e1f0a9b8c";
export const NODE = "c0ffee00-0000-4000-8000-000000000001";

export const ADMIN: TokenOwner = {
  ...{ user_id: "a", project_id: PROJECT, roles: ["admin"], system_scope: null },
};
export const MEMBER: TokenOwner = { ...ADMIN, roles: ["member"] };

/** As Nova's own policy has it. */
export const RULES: Parameters<typeof decide>[2] = {
  allows: (_rule, { roles }) => roles.includes("admin"),
  novaCompat: false,
  scoped: true,
  numbers: new Map([[1, NODE]]),
};

export function asked(line: string, fields: HeaderFields = {}, body = ""): ServedRequest {
  const [method = "", path = ""] = line.split(" ");
  const id = "req-00000000-0000-4000-8000-000000000000";
  return {
    ...{ method, path, fields, body: Buffer.from(body), id, globalId: id },
    ...{ upstream: { calls: 0 }, isClosed: () => false },
  };
}
