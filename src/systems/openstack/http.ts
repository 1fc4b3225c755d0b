import { readFileSync } from "node:fs";
import {
  type ClientRequest,
  type IncomingMessage,
  Agent as PlainAgent,
  request as plain,
} from "node:http";
import { type AgentOptions, Agent as TlsAgent, request as tls } from "node:https";
import { createSecureContext, type SecureContextOptions } from "node:tls";
import { MigrationError, systemCode } from "../../lib/error.ts";
import { isObject, parsedJson } from "../../lib/json.ts";
import type { Tls } from "./cloud.ts";

export interface HttpCall {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly url: string;
  readonly headers: { readonly [name: string]: string };
  readonly body?: unknown;
  /** Receives a 200 response. `limit` applies between chunks. Throws only MigrationErrors. */
  readonly into?: (portion: Buffer) => Promise<void>;
}

export interface Answered {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly text: string;
}

/** Without a response, the outcome of the call is unknown. */
export interface Unanswered {
  readonly status: 0;
  /** `ECONNRESET`, or `no answer in 60 s`. */
  readonly reason: string;
}

export type Http = ReturnType<typeof openHttp>;

type AnswersHere = (call: HttpCall) => Promise<Answered | Unanswered>;

const here = new Map<string, AnswersHere>();

/** For tests. Null restores the connection. */
export function answerHere(origin: string, answer: AnswersHere | null): void {
  if (answer === null) here.delete(origin);
  else here.set(origin, answer);
}

/** Maximum bytes of a response. A detailed page of 1000 nodes has a sixth of this. */
const MOST = 64 * 1024 * 1024;

/** Node's longest timer. A longer one fires at once. */
const LONGEST_TIMER = 2 ** 31 - 1;

/**
 * Node's fetch cannot use a CA file without an extra package.
 *
 * @param limit milliseconds from the request to the last byte, or between chunks for `into`
 * @throws MigrationError N2I-E220 from a call with a response that is too long; N2I-E106 for an
 *   invalid certificate file
 */
export function openHttp(settings: Tls, limit: number) {
  const agents = {
    plain: new PlainAgent({ keepAlive: true }),
    secure: new TlsAgent({ keepAlive: true, ...certificates(settings) }),
  };
  return {
    /** @throws MigrationError N2I-E213 if the certificate is not trusted */
    send: (call: HttpCall) =>
      here.get(new URL(call.url).origin)?.(call) ??
      send(call, agents, Math.min(limit, LONGEST_TIMER)),
    close(): void {
      agents.plain.destroy();
      agents.secure.destroy();
    },
  };
}

function certificates({ cacert, cert, key, insecure }: Tls): AgentOptions {
  return {
    rejectUnauthorized: !insecure,
    ...(cacert !== null &&
      usable({ ca: pem(cacert) }, "N2I-E106", `${cacert} contains no certificate (PEM)`)),
    ...(cert !== null && certificatePair({ cert, key: key ?? cert }, "N2I-E106")),
  };
}

type Unusable = "N2I-E106" | "N2I-E116";

/** @throws MigrationError with the code if the files are not a certificate and its key */
export function certificatePair(
  { cert, key }: { readonly cert: string; readonly key: string },
  code: Unusable,
) {
  const pair = { cert: pem(cert, code), key: pem(key, code) };
  return usable(pair, code, `${cert} and ${key} are not a certificate and its key (PEM)`);
}

/** Checked at once, because node:tls would fail only the first call. */
function usable<T extends SecureContextOptions>(part: T, code: Unusable, otherwise: string): T {
  const { ca } = part;
  try {
    if (Buffer.isBuffer(ca) && !ca.includes("-----BEGIN")) throw new Error("no PEM");
    createSecureContext(part);
    return part;
  } catch {
    const fix = code === "N2I-E106" ? { fix: "Specify the correct files." } : {};
    throw new MigrationError(code, otherwise, fix);
  }
}

function pem(path: string, code: Unusable = "N2I-E106"): Buffer {
  try {
    return readFileSync(path);
  } catch (cause) {
    const fix = code === "N2I-E106" ? { fix: "Specify a file that this user can read." } : {};
    const text = `the certificate file ${path} cannot be read`;
    throw new MigrationError(code, text, { cause, ...fix });
  }
}

async function send(
  { method, url, headers, body, into }: HttpCall,
  agents: { readonly plain: PlainAgent; readonly secure: TlsAgent },
  limit: number,
): Promise<Answered | Unanswered> {
  const at = new URL(url);
  const text = body === undefined ? null : Buffer.from(JSON.stringify(body));
  const late = new AbortController();
  // Unlike AbortSignal.timeout, this timer keeps the process alive.
  const timer = setTimeout(() => late.abort(), limit);
  const { signal } = late;
  const options = {
    ...{ method, signal },
    headers: {
      Accept: "application/json",
      ...headers,
      ...(text !== null && {
        "Content-Type": "application/json",
        "Content-Length": String(text.length),
      }),
    },
  };
  const isTls = at.protocol === "https:";
  const { [isTls ? "secure" : "plain"]: agent } = agents;
  const request = (isTls ? tls : plain)(at, { ...options, agent });
  let response: IncomingMessage | undefined;
  try {
    response = await responseTo(request, text);
    const { statusCode = 0, headers: received } = response;
    const chunks: Buffer[] = [];
    let size = 0;
    for await (const chunk of response as AsyncIterable<Buffer>) {
      if (into !== undefined && statusCode === 200) {
        timer.refresh();
        await into(chunk);
        continue;
      }
      size += chunk.length;
      if (size > MOST)
        throw new MigrationError(
          "N2I-E220",
          `${at.origin}${at.pathname} answered with more than ${MOST / 2 ** 20} MiB`,
        );
      chunks.push(chunk);
    }
    return { status: statusCode, headers: received, text: Buffer.concat(chunks).toString("utf8") };
  } catch (error) {
    request.destroy();
    if (signal.aborted) return { status: 0, reason: `no answer in ${limit / 1000} s` };
    if (!(error instanceof Error) || error instanceof MigrationError) throw error;
    const fault = isTls ? certificateFault(error, at.origin) : null;
    if (fault !== null) throw fault;
    // Only codes, because messages may quote the request.
    const cut = response !== undefined && systemCode(error) === "ECONNRESET";
    const reason = systemCode(error) ?? "the connection was lost";
    return { status: 0, reason: cut ? "the answer was cut off" : reason };
  } finally {
    clearTimeout(timer);
  }
}

function responseTo(request: ClientRequest, body: Buffer | null): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request.on("response", resolve).on("error", reject);
    // The only event if the service switches protocols.
    request.on("close", () => reject(new Error("closed without a response")));
    request.end(body ?? undefined);
  });
}

/** @source Node's tls module and OpenSSL: X509_V_ERR_*, reasons of SSL routines */
const FAULTS: readonly { readonly match: RegExp; readonly text: string; readonly fix: string }[] = [
  {
    match:
      /^(UNABLE_TO_(GET_ISSUER|VERIFY_LEAF)|(DEPTH_ZERO_)?SELF_SIGNED|(INVALID_CA|CERT_UNTRUSTED|CERT_CHAIN_TOO_LONG|PATH_LENGTH_EXCEEDED) )/,
    text: "its certificate is not signed by a trusted CA",
    fix: "Specify its CA file with --os-cacert, OS_CACERT or `cacert` in clouds.yaml. The system's CA file is often /etc/ssl/certs/ca-certificates.crt.",
  },
  {
    match: /^(ERR_TLS_CERT_ALTNAME_INVALID|HOSTNAME_MISMATCH) /,
    text: "its certificate is for a different name",
    fix: "Use a name from the certificate in the URL, or create a certificate for this name.",
  },
  {
    match: /^CERT_(HAS_EXPIRED|NOT_YET_VALID) /,
    text: "its certificate has expired or is not valid yet",
    fix: "Renew the certificate of the service. If it is new, compare the clocks of both machines.",
  },
  {
    match: / alert (certificate|bad certificate|unknown ca|unsupported certificate)/,
    text: "it requires a client certificate, and did not receive one that it accepts",
    fix: "Set `cert` and `key` (OS_CERT, OS_KEY) of a user that it accepts.",
  },
  {
    match: /:(wrong version number|packet length too long|http request):/,
    text: "it does not use TLS on this port",
    fix: "Check the scheme (http:// or https://) and the port in the URL.",
  },
  {
    // TLS 1.2 has no alert for a missing certificate.
    match: / alert handshake failure/,
    text: "it aborts the TLS handshake",
    fix: "If it requires a client certificate, set `cert` and `key` (OS_CERT, OS_KEY). Otherwise compare the TLS settings of both machines.",
  },
  {
    match:
      /:(unsupported protocol|no shared cipher|no protocols available):| alert protocol version/,
    text: "no encrypted connection is possible",
    fix: "Compare the TLS settings of the service with those of this machine.",
  },
];

/** A permanent certificate or TLS error, or null. The message is matched but never quoted. */
function certificateFault(error: Error, where: string): MigrationError | null {
  const code = "code" in error ? String(error.code) : "";
  const fault = FAULTS.find(({ match }) => match.test(`${code} ${error.message}`));
  if (fault === undefined) return null;
  return new MigrationError("N2I-E213", `${where}: ${fault.text} (${code})`, { fix: fault.fix });
}

const LONGEST = 300;

/**
 * Ironic nests JSON and differs by release. Nova wraps the text in the kind of fault.
 *
 * @param secrets texts to remove
 * @source facts/ironic.md 4.4
 */
function faultOf(text: string, secrets: readonly string[] = []): string {
  // Secrets are removed first, because one may look like a tag.
  const message =
    sentence(parsedJson(text)) ?? withoutSecrets(text, secrets).replaceAll(/<[^>]*>/g, " ");
  return withoutSecrets(message, secrets).replaceAll(/\s+/g, " ").trim().slice(0, LONGEST);
}

/** The error text, or a redirection's Location without login and query. */
export function faultIn(answer: Answered, secrets: readonly string[]): string {
  const { status, headers, text } = answer;
  const to = status >= 300 && status < 400 ? headers.location : undefined;
  if (to === undefined) return faultOf(text, secrets);
  const plain = to.replace(/[?#].*$/, "").replace(/\/\/[^/]*@/, "//");
  return `redirects to ${withoutSecrets(plain, secrets)}`.slice(0, LONGEST);
}

/**
 * Also replaces JSON's escapes of secrets. Very short ones stay, because other words contain them.
 */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  return secrets
    .filter((secret) => secret.length > 2)
    .flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1)])
    .reduce((clean, secret) => clean.replaceAll(secret, "****"), text);
}

function sentence(body: unknown): string | null {
  if (typeof body === "string") return sentence(parsedJson(body)) ?? body;
  if (!isObject(body)) return null;
  for (const inner of [body.error_message, body.error, body.errors]) {
    const first: unknown = Array.isArray(inner) ? inner[0] : inner;
    const found = first === undefined ? null : sentence(first);
    if (found !== null) return found;
  }
  const candidates = [body.faultstring, body.message, body.detail, body.description, body.title];
  const found = candidates.find((text): text is string => typeof text === "string" && text !== "");
  if (found !== undefined) return found;
  // Nova's format: {"badRequest": {"message": .., "code": 400}}.
  const [only, ...rest] = Object.values(body);
  return rest.length === 0 && isObject(only) ? sentence(only) : null;
}
