import { MigrationError } from "../../lib/error.ts";
import { isObject, objectOf, parsedJson } from "../../lib/json.ts";
import { type Auth, type Cloud, ENVIRONMENT, type Sought } from "./cloud.ts";
import { faultIn } from "./fault.ts";
import { type Answered, type Http, type HttpCall, openHttp, type Unanswered } from "./http.ts";
import { BAREMETAL, KEYSTONE, type ServiceKind } from "./kinds.ts";
import { askUntilAnswered, isPassing } from "./passing.ts";

/** What became of a call. */
export interface Answer {
  /** 0: nobody knows whether it was done. */
  readonly status: number;
  /** Read as JSON when it is; null otherwise. */
  readonly body: unknown;
  readonly headers: Answered["headers"];
  /** What the service says of an error, or why there is no answer; empty for a success. */
  readonly fault: string;
}

type Words = Omit<HttpCall, "url" | "headers"> & {
  readonly path: string;
  /** Texts no fault may quote, besides those of the login. */
  readonly hidden?: readonly string[];
  /** Header fields of this call alone. */
  readonly fields?: HttpCall["headers"];
};

/** Calls to one service, with its login; nothing is repeated here but a call with an old token. */
export interface ServiceSession {
  /** URL of the service, without a slash or `/v1` at its end. */
  readonly url: string;
  /** Uuid of the project that the login is of; null where nothing says. */
  readonly project: string | null;
  /** @throws MigrationError N2I-E210, N2I-E211 when Keystone gives no token, or the token is refused */
  readonly call: (words: Words) => Promise<Answer>;
  /** The same at a microversion; until then none is sent. */
  readonly at: (microversion: string) => ServiceSession;
  readonly close: () => void;
}

/**
 * Opens a session: a token where one is needed, and the service's URL from the catalog where none
 * is given.
 *
 * @param limit milliseconds a call may take
 * @throws MigrationError N2I-E106, N2I-E210, N2I-E211, N2I-E212
 */
export async function openSession(
  cloud: Cloud,
  limit: number,
  kind: ServiceKind = BAREMETAL,
): Promise<ServiceSession> {
  const http = openHttp(cloud.tls, limit);
  try {
    const login = await logIn(http, cloud, kind);
    const found = cloud[kind.said] ?? login.endpoint;
    const { region, interface: face } = cloud.catalog[kind.name];
    if (found === null && kind === BAREMETAL) checkNamed(cloud);
    if (found === null)
      throw new MigrationError(
        "N2I-E106",
        cloud.auth.kind === "keystone"
          ? `${cloud.from}: the catalog has no ${face} ${kind.name} endpoint${region === null ? "" : ` in region ${region}`}`
          : `${cloud.from}: nothing says where the ${kind.name} service is`,
        { fix: kind.fix },
      );
    const whole = found.replace("%(project_id)s", login.project ?? "%(project_id)s");
    const url = serviceUrl(whole, cloud.from, kind);
    const pinned = (headers: HttpCall["headers"]): ServiceSession => ({
      url,
      project: login.project,
      close: http.close,
      call: (words) => call(http, url, login, words, headers),
      at: (microversion) => pinned(kind.pin(microversion)),
    });
    return pinned({});
  } catch (error) {
    http.close();
    throw error;
  }
}

/** Where nobody named a Keystone, the service's URL is not what is missing. @throws MigrationError N2I-E106 */
function checkNamed({ auth, from }: Cloud): void {
  if (auth.kind !== "none" || auth.named) return;
  throw new MigrationError(
    "N2I-E106",
    from === ENVIRONMENT
      ? "OS_AUTH_URL is not set, and no cloud is named"
      : `${from}: auth_url is missing`,
    {
      fix: "Say how to log in: --os-cloud NAME of clouds.yaml, or OS_AUTH_URL and the other OS_* variables. --ironic-url alone is for an Ironic without Keystone.",
    },
  );
}

/** @throws MigrationError N2I-E106 */
export function serviceUrl(
  text: string,
  from: string,
  { version, spoken = "" }: Pick<ServiceKind, "version" | "spoken">,
): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== "" || url.search !== "")
    throw new MigrationError(
      "N2I-E106",
      `${from}: the service's URL is not http(s)://HOST[:PORT]/`,
      { fix: "Write scheme, host and port, as in https://ironic.example.org:6385." },
    );
  return `${url.origin}${url.pathname.replace(/\/+$/, "").replace(version, spoken)}`;
}

interface LoggedIn {
  readonly endpoint: string | null;
  readonly project: string | null;
  /** Headers of every call. */
  readonly headers: () => { readonly [name: string]: string };
  /** A new token in place of one the service refused; false where there is none to renew. */
  readonly renew: (refused: string | undefined) => Promise<boolean>;
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
  let renewing: Promise<Token> | null = null;
  return {
    ...{ endpoint: token.endpoint, project: token.project },
    headers: () => ({ "X-Auth-Token": token.text() }),
    secrets: () => [token.text(), auth.secret()],
    async renew(refused) {
      // Of many calls that meet the old token one asks for the new one.
      if (refused !== token.text()) return true;
      renewing ??= newToken(http, auth, cloud, kind).finally(() => {
        renewing = null;
      });
      token = await renewing;
      return true;
    },
  };
}

/**
 * Calls to one service in a caller's name: with the token he came with, and nothing to renew it by. One
 * that the service refuses is an answer like any other.
 *
 * @param secrets what no fault may quote
 */
export function callerSession(
  http: Http,
  at: { readonly url: string; readonly kind: ServiceKind },
  headers: HttpCall["headers"],
  secrets: readonly string[],
): ServiceSession {
  const pinned = (pins: HttpCall["headers"]): ServiceSession => ({
    ...{ url: at.url, project: null },
    close: () => undefined,
    call: async ({ path, hidden = [], fields = {}, ...words }) => {
      const own = { ...fields, ...pins, ...headers };
      const asked = { ...words, url: `${at.url}${path}`, headers: own };
      return answered(await http.send(asked), [...secrets, ...hidden]);
    },
    at: (microversion) => pinned(at.kind.pin(microversion)),
  });
  return pinned({});
}

async function call(
  http: Http,
  url: string,
  login: LoggedIn,
  { path, hidden = [], fields = {}, ...words }: Words,
  pinned: { readonly [name: string]: string },
): Promise<Answer> {
  for (let again = false; ; again = true) {
    const headers = login.headers();
    const answer = await http.send({
      ...words,
      url: `${url}${path}`,
      headers: { ...fields, ...pinned, ...headers },
    });
    if (answer.status !== 401) return answered(answer, [...login.secrets(), ...hidden]);
    if (!again && (await login.renew(headers["X-Auth-Token"]))) continue;
    throw new MigrationError(
      "N2I-E211",
      `${url} refuses the login: ${faultIn(answer, login.secrets()) || "401"}`,
    );
  }
}

function answered(answer: Answered | Unanswered, secrets: readonly string[]): Answer {
  if ("why" in answer) return { status: 0, body: null, headers: {}, fault: answer.why };
  const { status, headers, text } = answer;
  const fault = status < 300 ? "" : `${status} ${faultIn(answer, secrets)}`.trim();
  const isDenied = status === 500 && OTHER_SCOPE.test(fault);
  return { status: isDenied ? 403 : status, headers, body: parsedJson(text), fault };
}

/**
 * A login for a project where one for the system is wanted: services pass this error on as their own.
 *
 * @source oslo.policy: InvalidScope; seen on Ironic 2023.1 with enforce_scope
 */
const OTHER_SCOPE = /requires a scope of \[/;

/**
 * Puts a question until it is answered, for about twelve seconds and the calls' own time limits, or to a silent service
 * twice.
 *
 * @returns the body; null when the service says that there is no such thing
 * @throws MigrationError N2I-E210 when it is not answered, N2I-E211, N2I-E212 when it is refused
 */
export async function ask(session: ServiceSession, path: string): Promise<unknown> {
  const answer = await answerTo(session, path, asJson);
  return answer.status === 200 ? answer.body : null;
}

/**
 * The same, with what stands around the body.
 *
 * @param read makes of an answer what it is worth: one of status 0 is asked for again
 * @returns an answer of status 200 or 404
 */
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

/** Every answer of a service is JSON: a page some proxy puts in between is no answer. */
function asJson(answer: Answer): Answer {
  if (answer.status !== 200 || answer.body !== null) return answer;
  return { ...answer, status: 0, fault: "the answer is not JSON" };
}

/** A call the service will not do, whatever is tried. */
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

interface Token {
  /** Of the service asked for, as catalog, interface and region have it; null when none is there. */
  readonly endpoint: string | null;
  readonly project: string | null;
  readonly text: () => string;
}

/**
 * A token of Keystone's v3, with a password or an application credential.
 *
 * @param kind the service whose endpoint is wanted
 * @throws MigrationError N2I-E210 when Keystone does not answer, N2I-E211 when it refuses
 */
async function newToken(
  http: Http,
  { url, question, secret }: Extract<Auth, { readonly kind: "keystone" }>,
  { from, catalog }: Cloud,
  { name, types }: ServiceKind,
): Promise<Token> {
  const base = serviceUrl(url, from, KEYSTONE);
  const answer = await askUntilAnswered(() =>
    http.send({
      method: "POST",
      url: `${base}/v3/auth/tokens`,
      headers: {},
      body: { auth: question() },
    }),
  );
  if ("why" in answer)
    throw new MigrationError("N2I-E210", `Keystone at ${base} does not answer: ${answer.why}`);
  const fault = (): string => faultIn(answer, [secret()]);
  if (isPassing(answer))
    throw new MigrationError(
      "N2I-E210",
      `Keystone at ${base} does not answer: ${`${answer.status} ${fault()}`.trim()}`,
    );
  if (answer.status === 401 || answer.status === 403)
    throw new MigrationError("N2I-E211", `Keystone at ${base} refuses the login: ${fault()}`);
  const token = answer.headers["x-subject-token"];
  if (answer.status !== 201 || typeof token !== "string")
    throw new MigrationError(
      "N2I-E212",
      `Keystone at ${base} answers ${answer.status}: ${fault() || "no token"}`,
      answer.status === 404 ? { fix: "Correct auth_url: Keystone's /v3 is looked for there." } : {},
    );
  const body = parsedJson(answer.text);
  const { id } = objectOf(objectOf(objectOf(body).token).project);
  const project = typeof id === "string" ? id : null;
  return { endpoint: endpointOf(body, catalog[name], types), project, text: () => token };
}

/** @param body of Keystone's answer, with the catalog */
export function endpointOf(
  body: unknown,
  sought: Sought,
  types: ReadonlySet<string>,
): string | null {
  const token = isObject(body) && isObject(body.token) ? body.token : {};
  const services = Array.isArray(token.catalog) ? (token.catalog as readonly unknown[]) : [];
  for (const service of services) {
    if (!isObject(service) || !types.has(String(service.type))) continue;
    const endpoints = Array.isArray(service.endpoints) ? (service.endpoints as unknown[]) : [];
    for (const endpoint of endpoints)
      if (
        isObject(endpoint) &&
        endpoint.interface === sought.interface &&
        (sought.region === null || (endpoint.region_id ?? endpoint.region) === sought.region) &&
        typeof endpoint.url === "string"
      )
        return endpoint.url;
  }
  return null;
}
