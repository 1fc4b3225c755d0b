import { once } from "node:events";
import { readFileSync } from "node:fs";
import { type IncomingMessage, Agent as PlainAgent, request as plain } from "node:http";
import { type AgentOptions, Agent as TlsAgent, request as tls } from "node:https";
import { createSecureContext } from "node:tls";
import { MigrationError, systemCode } from "../../model/error.ts";
import { certificateFault } from "./certificate.ts";
import type { Tls } from "./cloud.ts";

export interface HttpCall {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly url: string;
  readonly headers: { readonly [name: string]: string };
  /** Sent as JSON. */
  readonly body?: unknown;
}

export interface Answered {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly text: string;
}

/** What came instead of an answer: nobody knows whether the service did what was asked. */
export interface Unanswered {
  readonly status: 0;
  /** `ECONNRESET`, or `no answer in 60 s`. */
  readonly why: string;
}

export interface Http {
  /** @throws MigrationError N2I-E213 when the other side's certificate is not to be trusted */
  readonly send: (asked: HttpCall) => Promise<Answered | Unanswered>;
  readonly close: () => void;
}

/** Bytes of one answer: a page of a thousand nodes in every detail has a sixth of it. */
const MOST = 64 * 1024 * 1024;

/**
 * HTTP/1.1 with kept connections. Node's fetch cannot be told a certificate authority without a
 * package of its own; its http and https can.
 *
 * @param limit milliseconds from a request to the last byte of its answer
 * @throws MigrationError N2I-E220, from a request, when its answer is too long; N2I-E106 when a certificate file cannot be read, or holds none
 */
export function openHttp(settings: Tls, limit: number): Http {
  const agents = {
    "http:": new PlainAgent({ keepAlive: true }),
    "https:": new TlsAgent({ keepAlive: true, ...certificates(settings) }),
  };
  return {
    send: (asked) => send(asked, agents, limit),
    close() {
      for (const agent of Object.values(agents)) agent.destroy();
    },
  };
}

function certificates({ cacert, cert, key, insecure }: Tls): AgentOptions {
  const authorities = cacert === null ? {} : { ca: pem(cacert) };
  const own = cert === null ? {} : { cert: pem(cert), key: pem(key ?? cert) };
  usable(`${cacert} holds no certificate (PEM)`, authorities);
  usable(`${cert} and ${key ?? cert} are no certificate and its key (PEM)`, own);
  return { ...authorities, ...own, rejectUnauthorized: !insecure };
}

/** Read here already: what TLS makes of a wrong file would be told amid the first call. */
function usable(otherwise: string, part: AgentOptions): void {
  const { ca } = part;
  try {
    if (Buffer.isBuffer(ca) && !ca.includes("-----BEGIN")) throw new Error("no PEM");
    createSecureContext(part);
  } catch {
    throw new MigrationError("N2I-E106", otherwise, { fix: "Name the right files." });
  }
}

function pem(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (cause) {
    throw new MigrationError("N2I-E106", `the certificate file ${path} cannot be read`, { cause });
  }
}

async function send(
  { method, url, headers, body }: HttpCall,
  agents: { readonly "http:": PlainAgent; readonly "https:": TlsAgent },
  limit: number,
): Promise<Answered | Unanswered> {
  const at = new URL(url);
  const text = body === undefined ? null : Buffer.from(JSON.stringify(body));
  const options = {
    method,
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
  const late = AbortSignal.timeout(limit);
  const request = isTls
    ? tls(at, { ...options, signal: late, agent: agents["https:"] })
    : plain(at, { ...options, signal: late, agent: agents["http:"] });
  // Whoever waits for the response, or for its next piece, is told.
  request.on("error", () => undefined).end(text ?? undefined);
  let response: IncomingMessage | undefined;
  try {
    // What node:http gives with this event.
    [response] = (await once(request, "response")) as [IncomingMessage];
    const chunks: Buffer[] = [];
    let size = 0;
    for await (const chunk of response as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > MOST) throw tooLong(at);
      chunks.push(chunk);
    }
    const { statusCode = 0, headers: told } = response;
    return { status: statusCode, headers: told, text: Buffer.concat(chunks).toString("utf8") };
  } catch (error) {
    request.destroy();
    if (late.aborted) return { status: 0, why: `no answer in ${limit / 1000} s` };
    if (!(error instanceof Error) || error instanceof MigrationError) throw error;
    const fault = isTls ? certificateFault(error, at.origin) : null;
    if (fault !== null) throw fault;
    // Codes only: a message may quote what was sent.
    const cut = response !== undefined && systemCode(error) === "ECONNRESET";
    return { status: 0, why: cut ? "the answer was cut off" : codeOf(error) };
  }
}

function codeOf(error: Error): string {
  return systemCode(error) ?? "the connection broke";
}

function tooLong({ origin, pathname }: URL): MigrationError {
  const most = `${MOST / 1024 / 1024} MiB`;
  return new MigrationError("N2I-E220", `${origin}${pathname} answered with more than ${most}`);
}
