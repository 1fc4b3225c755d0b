import { MigrationError } from "../../lib/error.ts";
import { objectOf, parsedJson } from "../../lib/json.ts";
import { type Auth, type Cloud, ENVIRONMENT } from "./cloud.ts";
import {
  type Answered,
  faultIn,
  type Http,
  type HttpCall,
  openHttp,
  type Unanswered,
} from "./http.ts";
import { BAREMETAL, endpointOf, KEYSTONE, type ServiceKind } from "./kinds.ts";
import { askUntilAnswered, isPassing } from "./passing.ts";

export interface Answer {
  /** 0: the outcome is unknown. */
  readonly status: number;
  readonly body: unknown;
  readonly headers: Answered["headers"];
  /** The service's error text or the connection error. Empty for a success. */
  readonly fault: string;
}

type CallArguments = Omit<HttpCall, "url" | "headers"> & {
  readonly path: string;
  /** Further texts to remove from faults. */
  readonly hidden?: readonly string[];
  readonly fields?: HttpCall["headers"];
};

/** Calls to one service. Only a call with an expired token is repeated. */
export interface ServiceSession {
  /** Without trailing slash or `/v1`. */
  readonly url: string;
  /** The login's project id, or null. */
  readonly project: string | null;
  /** @throws MigrationError N2I-E210, or N2I-E211 if Keystone or the service refuses the login */
  readonly call: (args: CallArguments) => Promise<Answer>;
  /** The session with a microversion. Without it none is sent. */
  readonly at: (microversion: string) => ServiceSession;
  readonly close: () => void;
}

/** @param limit milliseconds per call @throws MigrationError N2I-E106, N2I-E210 to N2I-E212 */
export async function openSession(
  cloud: Cloud,
  limit: number,
  kind: ServiceKind = BAREMETAL,
): Promise<ServiceSession> {
  const http = openHttp(cloud.tls, limit);
  try {
    const login = await logIn(http, cloud, kind);
    const found = cloud.endpoints[kind.name] ?? login.endpoint;
    const { region, interface: face } = cloud.catalog[kind.name];
    if (found === null && kind === BAREMETAL) checkLogin(cloud);
    if (found === null)
      throw new MigrationError(
        "N2I-E106",
        cloud.auth.kind === "keystone"
          ? `${cloud.from}: the catalog has no ${face} ${kind.name} endpoint${region === null ? "" : ` in region ${region}`}`
          : `${cloud.from}: the URL of the ${kind.name} service is not known`,
        { fix: kind.fix },
      );
    const expanded = found.replace("%(project_id)s", login.project ?? "%(project_id)s");
    const url = serviceUrl(expanded, cloud.from, kind);
    return sessionOver(http, kind, { url, project: login.project, close: http.close }, login);
  } catch (error) {
    http.close();
    throw error;
  }
}

function sessionOver(
  http: Http,
  { pin }: ServiceKind,
  base: Pick<ServiceSession, "url" | "project" | "close">,
  login: Pick<LoggedIn, "headers" | "secrets" | "renew">,
): ServiceSession {
  const pinned = (pins: HttpCall["headers"]): ServiceSession => ({
    ...base,
    call: (args) => call(http, base.url, login, args, pins),
    at: (microversion) => pinned(pin(microversion)),
  });
  return pinned({});
}

/** Reports the missing login instead of the URL. @throws MigrationError N2I-E106 */
function checkLogin({ auth, from }: Cloud): void {
  if (auth.kind !== "none" || auth.explicit) return;
  throw new MigrationError(
    "N2I-E106",
    from === ENVIRONMENT
      ? "OS_AUTH_URL is not set, and no cloud is specified"
      : `${from}: auth_url is missing`,
    {
      fix: "Specify credentials: --os-cloud NAME from clouds.yaml, or OS_AUTH_URL and the other OS_* variables. --ironic-url alone is for Ironic without Keystone.",
    },
  );
}

/** @throws MigrationError N2I-E106 */
export function serviceUrl(
  text: string,
  from: string,
  { version, replacement = "" }: Pick<ServiceKind, "version" | "replacement">,
): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== "" || url.search !== "")
    throw new MigrationError(
      "N2I-E106",
      `${from}: the service's URL is not http(s)://HOST[:PORT]/`,
      { fix: "Specify scheme, host and port, as in https://ironic.example.org:6385." },
    );
  return `${url.origin}${url.pathname.replace(/\/+$/, "").replace(version, replacement)}`;
}

interface LoggedIn {
  readonly endpoint: string | null;
  readonly project: string | null;
  readonly headers: () => { readonly [name: string]: string };
  /** Replaces a token that the service refused. False without a login, null for the caller's. */
  readonly renew: ((refused: string | undefined) => Promise<boolean>) | null;
  readonly secrets: () => readonly string[];
}

async function logIn(http: Http, cloud: Cloud, kind: ServiceKind): Promise<LoggedIn> {
  const { auth } = cloud;
  const never = { endpoint: null, project: null, renew: () => Promise.resolve(false) };
  if (auth.kind === "none") return { ...never, headers: () => ({}), secrets: () => [] };
  if (auth.kind === "basic") {
    const text = Buffer.from(`${auth.user}:${auth.password()}`).toString("base64");
    const secrets = (): readonly string[] => [auth.password(), text];
    return { ...never, headers: () => ({ Authorization: `Basic ${text}` }), secrets };
  }
  let token = await newToken(http, auth, cloud, kind);
  let renewing: ReturnType<typeof newToken> | null = null;
  return {
    ...{ endpoint: token.endpoint, project: token.project },
    headers: () => ({ "X-Auth-Token": token.text() }),
    secrets: () => [token.text(), auth.secret()],
    async renew(refused) {
      // Concurrent calls with the old token share one renewal.
      if (refused !== token.text()) return true;
      renewing ??= newToken(http, auth, cloud, kind).finally(() => {
        renewing = null;
      });
      token = await renewing;
      return true;
    },
  };
}

/** The caller's token cannot be renewed. A refused token is a normal response. */
export function callerSession(
  http: Http,
  at: { readonly url: string; readonly kind: ServiceKind },
  headers: HttpCall["headers"],
  secrets: readonly string[],
): ServiceSession {
  const base = { url: at.url, project: null, close: () => undefined };
  const login = { headers: () => headers, secrets: () => secrets, renew: null };
  return sessionOver(http, at.kind, base, login);
}

async function call(
  http: Http,
  url: string,
  { headers: headersOf, secrets, renew }: Pick<LoggedIn, "headers" | "secrets" | "renew">,
  { path, hidden = [], fields = {}, ...rest }: CallArguments,
  pinned: { readonly [name: string]: string },
): Promise<Answer> {
  for (let again = false; ; again = true) {
    const headers = headersOf();
    const answer = await http.send({
      ...rest,
      url: `${url}${path}`,
      headers: { ...fields, ...pinned, ...headers },
    });
    if (answer.status !== 401 || renew === null) return answered(answer, [...secrets(), ...hidden]);
    if (!again && (await renew(headers["X-Auth-Token"]))) continue;
    throw new MigrationError(
      "N2I-E211",
      `${url} rejects the credentials: ${faultIn(answer, secrets()) || "401"}`,
    );
  }
}

function answered(answer: Answered | Unanswered, secrets: readonly string[]): Answer {
  if ("reason" in answer) return { status: 0, body: null, headers: {}, fault: answer.reason };
  const { status, headers, text } = answer;
  const fault = status < 300 ? "" : `${status} ${faultIn(answer, secrets)}`.trim();
  const isDenied = status === 500 && OTHER_SCOPE.test(fault);
  return { status: isDenied ? 403 : status, headers, body: parsedJson(text), fault };
}

/**
 * A project-scoped login was used for a system-scoped call.
 *
 * @source oslo.policy: InvalidScope; seen on Ironic 2023.1 with enforce_scope
 */
const OTHER_SCOPE = /requires a scope of \[/;

/**
 * Repeats like `askUntilAnswered`. Null for a missing object.
 *
 * @throws MigrationError N2I-E210 without a response, N2I-E211, N2I-E212 for a refusal
 */
export async function ask(session: ServiceSession, path: string): Promise<unknown> {
  const answer = await answerTo(session, path, (got) =>
    // A response without JSON is a proxy's page.
    got.status === 200 && got.body === null
      ? { ...got, status: 0, fault: "the answer is not JSON" }
      : got,
  );
  return answer.status === 200 ? answer.body : null;
}

/** @param read validates a response; status 0 is repeated @returns status 200 or 404 */
export async function answerTo(
  session: ServiceSession,
  path: string,
  read: (answer: Answer) => Answer,
): Promise<Answer> {
  const answer = await askUntilAnswered(async () =>
    read(await session.call({ method: "GET", path })),
  );
  if (answer.status === 200 || answer.status === 404) return answer;
  if (isPassing(answer))
    throw new MigrationError(
      "N2I-E210",
      `${session.url} does not answer GET ${path.replace(/\?.*/, "")}: ${answer.fault}`,
    );
  throw refusedCall(session, `GET ${path.replace(/\?.*/, "")}`, answer);
}

export function incomplete({ url }: ServiceSession, path: string, part: string): MigrationError {
  const text = `${url} answered GET ${path} without ${part}; is a proxy in between?`;
  return new MigrationError("N2I-E212", text);
}

export function refusedCall(
  session: Pick<ServiceSession, "url">,
  what: string,
  { status, fault }: Answer,
): MigrationError {
  return new MigrationError(
    status === 403 ? "N2I-E211" : "N2I-E212",
    `${session.url} refuses ${what}: ${fault}`,
  );
}

/** @throws MigrationError N2I-E210 without a response, N2I-E211 for a refusal */
async function newToken(
  http: Http,
  { url, question, secret }: Extract<Auth, { readonly kind: "keystone" }>,
  { from, catalog }: Cloud,
  { name, types }: ServiceKind,
) {
  const base = serviceUrl(url, from, KEYSTONE);
  const answer = await askUntilAnswered(() =>
    http.send({
      method: "POST",
      url: `${base}/v3/auth/tokens`,
      headers: {},
      body: { auth: question() },
    }),
  );
  const silent = (reason: string) =>
    new MigrationError("N2I-E210", `Keystone at ${base} does not answer: ${reason}`);
  if ("reason" in answer) throw silent(answer.reason);
  const fault = (): string => faultIn(answer, [secret()]);
  if (isPassing(answer)) throw silent(`${answer.status} ${fault()}`.trim());
  if (answer.status === 401 || answer.status === 403)
    throw new MigrationError("N2I-E211", `Keystone at ${base} rejects the credentials: ${fault()}`);
  const token = answer.headers["x-subject-token"];
  if (answer.status !== 201 || typeof token !== "string")
    throw new MigrationError(
      "N2I-E212",
      `Keystone at ${base} answers ${answer.status}: ${fault() || "no token"}`,
      answer.status === 404 ? { fix: "Correct auth_url: it must point to Keystone's /v3." } : {},
    );
  const body = parsedJson(answer.text);
  const { id } = objectOf(objectOf(objectOf(body).token).project);
  const project = typeof id === "string" ? id : null;
  return { endpoint: endpointOf(body, catalog[name], types), project, text: () => token };
}
