import { createHash } from "node:crypto";
import { isObject, type JsonObject, objectOf, parsedJson } from "../lib/json.ts";
import type { TokenOwner } from "../model/served.ts";
import type { Sought } from "../systems/openstack/cloud.ts";
import { faultIn } from "../systems/openstack/fault.ts";
import type { Answered, Http, Unanswered } from "../systems/openstack/http.ts";
import type { ServiceKind } from "../systems/openstack/kinds.ts";
import { isPassing } from "../systems/openstack/passing.ts";
import { endpointOf } from "../systems/openstack/session.ts";

/** A token that Keystone knows. The same one is the same object for as long as it is kept. */
export interface KnownToken {
  readonly owner: TokenOwner;
  /** Of the service asked for, by the catalog in it; null: there is none, or none was. */
  readonly endpoint: string | null;
  /** Milliseconds since the epoch. */
  readonly expires: number;
}

/** What Keystone says of a token: whose it is, that it is none, or nothing. */
type Validated =
  | { readonly is: "known"; readonly token: KnownToken }
  | { readonly is: "refused"; readonly status: 401 | 403; readonly why: string }
  | { readonly is: "unanswered"; readonly why: string };

export interface Tokens {
  /** @param calling called for each call that is made */
  readonly validate: (token: string, id: string, calling: () => void) => Promise<Validated>;
  /** A service refused it: it is looked at anew when it comes again. */
  readonly forget: (token: string) => void;
}

interface Keystone {
  readonly http: Http;
  /** Without a slash or `/v3` at its end. */
  readonly url: string;
  /** Which endpoint of the catalog is wanted, of a service with one of these names; null: none. */
  readonly catalog: (Sought & Pick<ServiceKind, "types">) | null;
  /** Seconds that an answer is believed, at most. */
  readonly believed: number;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** Tokens kept at once. */
const MOST_TOKENS = 10_000;

/** What can be a token: anything that may stand in a header and has no blank. */
const FORM = /^[\x21-\x7e]{1,8192}$/;

/**
 * Asks Keystone whose a token is, by the token itself: everybody may ask that of his own, so no login
 * is needed. What Keystone knows is kept under a hash, never beyond its expiry; what it refuses is not.
 *
 * @source Keystone's API reference, GET /v3/auth/tokens; measured on Keystone 22
 */
export function openTokens(keystone: Keystone): Tokens {
  const { http, url, catalog, believed, now } = keystone;
  const kept = new Map<string, { readonly token: KnownToken; readonly until: number }>();
  const asking = new Map<string, Promise<Validated>>();
  const ask = async (token: string, id: string, calling: () => void): Promise<Validated> => {
    const began = now();
    const asked = {
      method: "GET",
      url: `${url}/v3/auth/tokens${catalog === null ? "?nocatalog" : ""}`,
      headers: { "X-Auth-Token": token, "X-Subject-Token": token, "X-Openstack-Request-Id": id },
    } as const;
    const send = (): Promise<Answered | Unanswered> => {
      calling();
      return http.send(asked);
    };
    const answer = await askTwice(send, (one) => ("why" in one ? one.why : ""));
    const found = validated(answer, keystone, token, began);
    if (found.is !== "known" || believed <= 0) return found;
    const until = Math.min(began + believed * 1000, found.token.expires);
    const key = hash(token);
    kept.delete(key);
    makeRoom(kept, MOST_TOKENS);
    kept.set(key, { token: found.token, until });
    return found;
  };
  return {
    async validate(token, id, calling) {
      if (!FORM.test(token)) return { is: "refused", status: 401, why: "" };
      const key = hash(token);
      const known = kept.get(key);
      if (known !== undefined && known.until > now()) return { is: "known", token: known.token };
      kept.delete(key);
      // Of many requests with one token, one asks.
      const under = asking.get(key);
      if (under !== undefined) return under;
      const work = ask(token, id, calling).finally(() => asking.delete(key));
      asking.set(key, work);
      return work;
    },
    forget: (token) => void kept.delete(hash(token)),
  };
}

/** For one entry more: the oldest go. */
export function makeRoom(kept: Map<string, unknown>, most: number): void {
  for (const [oldest] of kept) {
    if (kept.size < most) return;
    kept.delete(oldest);
  }
}

function hash(token: string): string {
  return createHash("sha256").update(token).digest("base64");
}

/**
 * Asks what changes nothing, and once more where a kept connection was just gone: that is no answer.
 *
 * @param why what became of the connection; empty: there was an answer
 */
export async function askTwice<T>(ask: () => Promise<T>, why: (answer: T) => string): Promise<T> {
  const answer = await ask();
  return ["ECONNRESET", "EPIPE"].includes(why(answer)) ? ask() : answer;
}

function validated(
  answer: Answered | Unanswered,
  { catalog }: Keystone,
  token: string,
  began: number,
): Validated {
  if ("why" in answer) return { is: "unanswered", why: answer.why };
  const { status, text } = answer;
  const why = faultIn(answer, [token]);
  const body = parsedJson(text);
  // A page of what stands in front of Keystone is no word of its own.
  if (isObject(objectOf(body).error)) {
    // 404: an older Keystone says so of a token it does not know.
    if (status === 401 || status === 404) return { is: "refused", status: 401, why };
    if (status === 403) return { is: "refused", status, why };
  }
  const owner = status === 200 && isObject(body) ? ownerOf(objectOf(body.token)) : null;
  if (owner === null || isPassing(answer))
    return {
      is: "unanswered",
      why: `it answered ${status}${why === "" ? "" : `: ${why}`}`.slice(0, 300),
    };
  const expires = Date.parse(String(objectOf(objectOf(body).token).expires_at));
  if (expires <= began) return { is: "refused", status: 401, why: "the token has expired" };
  const endpoint = catalog === null ? null : endpointOf(body, catalog, catalog.types);
  return { is: "known", token: { owner, endpoint, expires } };
}

/** Null where it is no token of Keystone's v3. */
function ownerOf(token: JsonObject): TokenOwner | null {
  const user = objectOf(token.user);
  const [project, domain, system] = [token.project, token.domain, token.system].map(objectOf);
  if (typeof user.id !== "string" || Number.isNaN(Date.parse(String(token.expires_at))))
    return null;
  const roles = Array.isArray(token.roles) ? (token.roles as readonly unknown[]) : [];
  const own = text(objectOf(user.domain).id);
  const projects = text(objectOf(project?.domain).id);
  const scope = text(domain?.id);
  return {
    user_id: user.id,
    project_id: text(project?.id) ?? null,
    roles: roles.flatMap((role) => text(objectOf(role).name) ?? []),
    system_scope: system?.all === true ? "all" : null,
    ...(own !== undefined && { user_domain_id: own }),
    ...(projects !== undefined && { project_domain_id: projects }),
    ...(scope !== undefined && { domain_id: scope }),
    ...(typeof token.is_admin_project === "boolean" && {
      is_admin_project: token.is_admin_project,
    }),
  };
}

function text(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
