import { MigrationError } from "../lib/error.ts";
import { parsedJson } from "../lib/json.ts";
import {
  faultReply,
  type Reply,
  type ServedRequest,
  type TokenOwner,
  unauthorized,
} from "../model/served.ts";
import {
  checkedAnswer,
  MAXIMUM,
  MINIMUM,
  type RestService,
} from "../systems/ironic-api/service.ts";
import type { Http } from "../systems/openstack/http.ts";
import { BAREMETAL, KEYSTONE } from "../systems/openstack/kinds.ts";
import { type Answer, callerSession, serviceUrl } from "../systems/openstack/session.ts";
import { type Range, rangeOf } from "./rules/upstream.ts";
import type { ServeOptions } from "./serve.ts";
import { type CachedToken, makeRoom, openTokens, requestAgain } from "./tokens.ts";

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
  return { http, keystone: url, tokens: auth === "none" ? null : openTokens(keystone) };
}

/** The owner of every request if the service checks no tokens. */
const ANONYMOUS: CachedToken = {
  owner: { user_id: "", project_id: null, roles: ["admin"], system_scope: "all" },
  endpoint: null,
  expires: Number.POSITIVE_INFINITY,
};

interface Caller {
  readonly token: string | null;
  readonly cached: CachedToken;
}

/** @returns the caller, or the response if Keystone does not accept the token */
export async function whose(
  { keystone, tokens }: Callers,
  request: ServedRequest,
  fault = faultReply,
): Promise<Caller | Reply> {
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

/** Reads Ironic with the caller's token. @param token null if the service checks no tokens */
export function ironicFor(
  http: Http,
  url: string,
  { globalId, upstream }: Pick<ServedRequest, "globalId" | "upstream">,
  token: string | null,
) {
  const id = { "X-Openstack-Request-Id": globalId };
  const at = { url, kind: BAREMETAL };
  const session =
    token === null
      ? callerSession(http, at, id, [])
      : callerSession(http, at, { ...id, "X-Auth-Token": token }, [token]);
  return {
    /** The status is 0 if the response has another microversion. @param minor null to send none */
    async ask(path: string, minor: number | null): Promise<Answer> {
      const version = minor === null ? null : `1.${minor}`;
      const pinned = version === null ? session : session.at(version);
      const put = (): Promise<Answer> => {
        upstream.calls += 1;
        return pinned.call({ method: "GET", path });
      };
      const answer = await requestAgain(put, ({ status, fault }) => (status === 0 ? fault : ""));
      return version === null ? answer : checkedAnswer(answer, version);
    },
  };
}

/** A request, its caller, and Ironic with the caller's token, which only reads. */
export interface Asking {
  readonly request: ServedRequest;
  readonly owner: TokenOwner;
  readonly service: RestService;
}

/** @param failed the response to an error, and the status with which Ironic refuses the token */
export async function asCaller(
  { http, tokens }: Callers,
  service: RestService,
  { request, token, cached: { owner } }: Caller & Pick<Asking, "request">,
  work: (at: Asking) => Promise<Reply>,
  failed: (error: MigrationError, refused: 401 | 403 | null) => Reply,
): Promise<Reply> {
  const ironic = ironicFor(http, service.session.url, request, token);
  let refused: 401 | 403 | null = null;
  const ask: RestService["ask"] = async (path) => {
    const { status, body, fault: reason } = await ironic.ask(path, service.minor);
    if (status === 200 && body !== null) return body;
    if (status === 404) return null;
    if (status !== 401 && status !== 403)
      throw new MigrationError("N2I-E210", `Ironic does not answer: ${reason}`);
    refused = refused === 401 ? refused : status;
    if (token !== null) tokens?.forget(token);
    throw new MigrationError("N2I-E211", `Ironic refuses this token: ${reason}`);
  };
  try {
    return await work({ request, owner, service: { ...service, ask } });
  } catch (error) {
    if (!(error instanceof MigrationError)) throw error;
    return failed(error, refused);
  }
}

/** A catalog may have one URL per project. */
const MOST_URLS = 100;

/**
 * Reads and caches version documents, which need no token.
 * @throws MigrationError N2I-E210 without a response, N2I-E202 if it is not Ironic
 */
export function ranges(http: Http) {
  const cache = new Map<string, Promise<Range>>();
  return {
    of(url: string): Promise<Range> {
      const cached = cache.get(url);
      if (cached !== undefined) return cached;
      const pending = askRange(http, url);
      makeRoom(cache, MOST_URLS);
      cache.set(url, pending);
      pending.catch(() => cache.get(url) === pending && cache.delete(url));
      return pending;
    },
    forget: (url: string) => void cache.delete(url),
  };
}

async function askRange(http: Http, url: string): Promise<Range> {
  const answer = await http.send({ method: "GET", url: `${url}/v1/`, headers: {} });
  if ("reason" in answer || answer.status !== 200) {
    const reason = "reason" in answer ? answer.reason : `it answered ${answer.status}`;
    throw new MigrationError("N2I-E210", unanswered("Ironic", reason));
  }
  const { headers, text } = answer;
  const range = rangeOf(headers[MINIMUM], headers[MAXIMUM], parsedJson(text));
  if (range !== undefined) return range;
  throw new MigrationError("N2I-E202", "the service at Ironic's URL is not a bare metal service");
}

/** @param reason `it answered 500`, or a connection error */
export function unanswered(service: string, reason: string): string {
  return `${service} ${reason.startsWith("it ") ? reason.slice(3) : `does not answer: ${reason}`}`;
}
