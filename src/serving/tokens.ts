import { createHash } from "node:crypto";
import { isObject, type JsonObject, objectOf, parsedJson } from "../lib/json.ts";
import type { TokenOwner } from "../model/served.ts";
import type { Sought } from "../systems/openstack/cloud.ts";
import { type Answered, faultIn, type Http, type Unanswered } from "../systems/openstack/http.ts";
import { endpointOf, type ServiceKind } from "../systems/openstack/kinds.ts";
import { isPassing } from "../systems/openstack/passing.ts";

/** A validated token. While it is cached, the same token returns the same object. */
export interface CachedToken {
  readonly owner: TokenOwner;
  readonly endpoint: string | null;
  /** Milliseconds since the epoch. */
  readonly expires: number;
}

/** A valid token, or why not. 503: Keystone gave no usable response. */
type Validated = CachedToken | { readonly status: 401 | 403 | 503; readonly reason: string };

interface Keystone {
  readonly http: Http;
  /** Without trailing slash or `/v3`. */
  readonly url: string;
  readonly catalog: (Sought & Pick<ServiceKind, "types">) | null;
  /** Longest time in the cache, in seconds. */
  readonly believed: number;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

const MOST_TOKENS = 10_000;

/** Printable ASCII without blanks. */
const FORM = /^[\x21-\x7e]{1,8192}$/;

/**
 * Validates a token with itself, so no service login is needed. Caches valid tokens by hash, at most
 * until they expire. Never caches refusals.
 *
 * @source Keystone's API reference, GET /v3/auth/tokens; measured on Keystone 22
 */
export function openTokens(keystone: Keystone) {
  const { http, url, catalog, believed, now } = keystone;
  const cache = new Map<string, { readonly token: CachedToken; readonly until: number }>();
  const asking = new Map<string, Promise<Validated>>();
  const ask = async (token: string, id: string, calling: () => void): Promise<Validated> => {
    const began = now();
    const call = {
      method: "GET",
      url: `${url}/v3/auth/tokens${catalog === null ? "?nocatalog" : ""}`,
      headers: { "X-Auth-Token": token, "X-Subject-Token": token, "X-Openstack-Request-Id": id },
    } as const;
    const send = (): Promise<Answered | Unanswered> => {
      calling();
      return http.send(call);
    };
    const answer = await requestAgain(send, (one) => ("reason" in one ? one.reason : ""));
    const found = validated(answer, keystone, token, began);
    if (!("owner" in found) || believed <= 0) return found;
    const until = Math.min(began + believed * 1000, found.expires);
    const key = hash(token);
    cache.delete(key);
    makeRoom(cache, MOST_TOKENS);
    cache.set(key, { token: found, until });
    return found;
  };
  return {
    /** @param calling called for each call to Keystone */
    async validate(token: string, id: string, calling: () => void): Promise<Validated> {
      if (!FORM.test(token)) return { status: 401, reason: "" };
      const key = hash(token);
      const cached = cache.get(key);
      if (cached !== undefined && cached.until > now()) return cached.token;
      cache.delete(key);
      // Concurrent requests with one token share one validation.
      const under = asking.get(key);
      if (under !== undefined) return under;
      const work = ask(token, id, calling).finally(() => asking.delete(key));
      asking.set(key, work);
      return work;
    },
    /** After a refusal by a service, the next use validates the token again. */
    forget: (token: string) => void cache.delete(hash(token)),
  };
}

/** Drops the oldest entries until one more fits. */
export function makeRoom(cache: Map<string, unknown>, most: number): void {
  for (const [oldest] of cache) {
    if (cache.size < most) return;
    cache.delete(oldest);
  }
}

function hash(token: string): string {
  return createHash("sha256").update(token).digest("base64");
}

/** Repeats a read-only request once if a kept-alive connection was lost. */
export async function requestAgain<T>(
  ask: () => Promise<T>,
  reasonOf: (answer: T) => string,
): Promise<T> {
  const answer = await ask();
  return ["ECONNRESET", "EPIPE"].includes(reasonOf(answer)) ? ask() : answer;
}

function validated(
  answer: Answered | Unanswered,
  { catalog }: Keystone,
  token: string,
  began: number,
): Validated {
  if ("reason" in answer) return { status: 503, reason: answer.reason };
  const { status, text } = answer;
  const reason = faultIn(answer, [token]);
  const body = parsedJson(text);
  // A proxy's error page is not a response of Keystone.
  if (isObject(objectOf(body).error)) {
    // 404: older Keystone releases, for an unknown token.
    if (status === 401 || status === 404) return { status: 401, reason };
    if (status === 403) return { status, reason };
  }
  const owner = status === 200 && isObject(body) ? ownerOf(objectOf(body.token)) : null;
  if (owner === null || isPassing(answer))
    return {
      status: 503,
      reason: `it answered ${status}${reason === "" ? "" : `: ${reason}`}`.slice(0, 300),
    };
  const expires = Date.parse(String(objectOf(objectOf(body).token).expires_at));
  if (expires <= began) return { status: 401, reason: "the token has expired" };
  const endpoint = catalog === null ? null : endpointOf(body, catalog, catalog.types);
  return { owner, endpoint, expires };
}

function ownerOf(token: JsonObject): TokenOwner | null {
  const user = objectOf(token.user);
  const [project, domain, system] = [token.project, token.domain, token.system].map(objectOf);
  if (typeof user.id !== "string" || Number.isNaN(Date.parse(String(token.expires_at))))
    return null;
  const roles = Array.isArray(token.roles) ? (token.roles as readonly unknown[]) : [];
  const domainId = text(objectOf(user.domain).id);
  const projects = text(objectOf(project?.domain).id);
  const scope = text(domain?.id);
  return {
    user_id: user.id,
    project_id: text(project?.id) ?? null,
    roles: roles.flatMap((role) => text(objectOf(role).name) ?? []),
    system_scope: system?.all === true ? "all" : null,
    ...(domainId !== undefined && { user_domain_id: domainId }),
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
