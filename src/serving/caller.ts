import { faultReply, type Reply, type ServedRequest, unauthorized } from "../model/served.ts";
import type { Http } from "../systems/openstack/http.ts";
import { KEYSTONE } from "../systems/openstack/kinds.ts";
import { serviceUrl } from "../systems/openstack/session.ts";
import type { ServeOptions } from "./bind.ts";
import { type CachedToken, openTokens } from "./tokens.ts";
import { unanswered } from "./versions.ts";

/** Keystone's URL, which a 401 names, and its tokens. Null: callers need none. */
export type Callers = ReturnType<typeof openCallers>;

/** @param catalog the endpoint to find in the catalog of each token, or null */
export function openCallers(
  http: Http,
  { auth, keystoneUrl = "", tokenCache: believed }: ServeOptions,
  catalog: Parameters<typeof openTokens>[0]["catalog"] = null,
) {
  const url = auth === "none" ? "" : serviceUrl(keystoneUrl, "--keystone-url", KEYSTONE);
  const keystone = { http, url, catalog, believed, now: Date.now };
  return { keystone: url, tokens: auth === "none" ? null : openTokens(keystone) };
}

/** The owner of every request if the service checks no tokens. */
const ANONYMOUS: CachedToken = {
  owner: { user_id: "", project_id: null, roles: ["admin"], system_scope: "all" },
  endpoint: null,
  expires: Number.POSITIVE_INFINITY,
};

/** @returns the caller, or the response if Keystone does not accept the token */
export async function whose(
  { keystone, tokens }: Callers,
  request: ServedRequest,
  fault = faultReply,
): Promise<{ readonly token: string | null; readonly cached: CachedToken } | Reply> {
  if (tokens === null) return { token: null, cached: ANONYMOUS };
  const token = request.fields["x-auth-token"];
  if (typeof token !== "string" || token === "") return unauthorized(keystone);
  const found = await tokens.validate(token, request.globalId, () => {
    request.upstream.calls += 1;
  });
  if ("owner" in found) return { token, cached: found };
  const { status, reason } = found;
  if (status === 401) return unauthorized(keystone);
  if (status === 503) return fault(status, unanswered("Keystone", reason));
  return fault(status, reason || "Keystone refuses it.");
}
