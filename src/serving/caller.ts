import { faultReply, type Reply, type ServedRequest, unauthorized } from "../model/served.ts";
import type { CachedToken, Tokens } from "./tokens.ts";
import { unanswered } from "./versions.ts";

/** The owner of every request if the service checks no tokens. */
const ANONYMOUS: CachedToken = {
  owner: { user_id: "", project_id: null, roles: ["admin"], system_scope: "all" },
  endpoint: null,
  expires: Number.POSITIVE_INFINITY,
};

/** @returns the caller, or the response if Keystone does not accept the token */
export async function whose(
  proxy: { readonly tokens: Tokens | null; readonly keystone: string },
  request: ServedRequest,
  fault = faultReply,
): Promise<{ readonly token: string | null; readonly cached: CachedToken } | Reply> {
  if (proxy.tokens === null) return { token: null, cached: ANONYMOUS };
  const token = request.fields["x-auth-token"];
  if (typeof token !== "string" || token === "") return unauthorized(proxy.keystone);
  const found = await proxy.tokens.validate(token, request.globalId, () => {
    request.upstream.calls += 1;
  });
  if (found.is === "known") return { token, cached: found.token };
  if (found.is === "unanswered") return fault(503, unanswered("Keystone", found.reason));
  return found.status === 401
    ? unauthorized(proxy.keystone)
    : fault(403, found.reason || "Keystone refuses it.");
}
