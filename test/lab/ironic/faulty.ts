import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import { createServer as createTls } from "node:https";
import type { Socket } from "node:net";
import type { TestContext } from "node:test";
import { TLSSocket } from "node:tls";
import type { Pair } from "../../support/certificates.ts";
import { listening } from "../../support/listening.ts";

/**
 * What becomes of one call. `lost`: the service does it, and its answer is cut in the middle; `says`: it says these
 * header fields in place of its own.
 */
export type Fault =
  | { readonly do: "answer"; readonly status: number; readonly text: string }
  | { readonly do: "lost" }
  | { readonly do: "refuse" }
  | { readonly do: "says"; readonly fields: { readonly [name: string]: string } }
  | { readonly do: "slow"; readonly ms: number };

export interface Call {
  readonly method: string;
  readonly path: string;
  readonly token: string | undefined;
}

type Choice = (call: Call) => Fault | null | Promise<Fault | null>;

/**
 * A proxy in front of a real service that can be told to misbehave.
 * @param pair its certificate; without one it speaks plain HTTP
 * @param wants the authority whose certificate a client must show; without one it needs none
 */
export async function faultyProxy(
  to: string,
  t: Pick<TestContext, "after">,
  pair: Pair | null = null,
  wants: Buffer | null = null,
) {
  let choose: Choice = () => null;
  const calls: Call[] = [];
  const answers = async (asked: IncomingMessage, answer: ServerResponse) => {
    const token = asked.headers["x-auth-token"];
    const call = {
      method: asked.method ?? "",
      path: asked.url ?? "",
      token: typeof token === "string" ? token : undefined,
    };
    calls.push(call);
    const fault = await choose(call);
    if (fault === null) return forward(to, asked, answer, {});
    if (fault.do === "refuse") return void cut(asked.socket);
    if (fault.do === "lost") return forward(to, asked, answer, null);
    if (fault.do === "says") return forward(to, asked, answer, fault.fields);
    if (fault.do === "slow") return void setTimeout(() => forward(to, asked, answer, {}), fault.ms);
    asked.resume();
    answer.writeHead(fault.status, { "content-type": "application/json" }).end(fault.text);
  };
  const known = wants === null ? {} : { ca: wants, requestCert: true, rejectUnauthorized: true };
  const secure = pair === null ? null : createTls({ ...pair, ...known }, answers);
  const server = secure ?? createServer(answers);
  return {
    url: await listening(t, server),
    /** Asked for every call; null lets it pass. */
    use: (fault: Choice) => {
      choose = fault;
    },
    /** Calls that came, faults and all, since the start. */
    calls: (): readonly Call[] => calls,
    /** From the next connection on it shows another certificate. */
    shows: (other: Pair) => {
      secure?.setSecureContext(wants === null ? other : { ...other, ca: wants });
      // A line that is kept alive would go on with the old one.
      secure?.closeIdleConnections();
    },
  };
}

export type Faulty = Awaited<ReturnType<typeof faultyProxy>>;

/** @param says header fields in place of the service's own; null: the answer is lost */
function forward(
  to: string,
  asked: IncomingMessage,
  answer: ServerResponse,
  says: { readonly [name: string]: string } | null,
): void {
  const passed = request(
    new URL(asked.url ?? "/", to),
    { method: asked.method, headers: asked.headers },
    (got) => {
      if (says !== null) {
        answer.writeHead(got.statusCode ?? 502, { ...got.headers, ...says });
        got.pipe(answer);
        return;
      }
      got.resume();
      got.on("end", () => {
        answer.writeHead(got.statusCode ?? 502, { "content-length": "1000" });
        answer.write("{", () => cut(asked.socket));
      });
    },
  );
  passed.on("error", () => cut(asked.socket));
  asked.pipe(passed);
}

function cut(socket: Socket): void {
  if (socket instanceof TLSSocket) socket.destroy();
  else socket.resetAndDestroy();
}

/** An error as Ironic words it: JSON in JSON. */
export function ironicFault(status: number, faultstring: string): Fault {
  const inner = { faultcode: status < 500 ? "Client" : "Server", faultstring, debuginfo: null };
  return { do: "answer", status, text: JSON.stringify({ error_message: JSON.stringify(inner) }) };
}
