import { createServer, type IncomingHttpHeaders } from "node:http";
import type { TestContext } from "node:test";
import { setImmediate } from "node:timers/promises";
import { type Json, parsedJson } from "../../src/lib/json.ts";
import { answerHere } from "../../src/systems/openstack/http.ts";
import { listening } from "./listening.ts";

/** What becomes of a call: done and answered, unless this says otherwise. */
export interface Fault {
  /** The service does what was asked, whatever it says of it. */
  readonly done: boolean;
  /** Null: the connection breaks; without it, what it would say. */
  readonly says?: Says | null;
  /** It is not the service that says it, but somebody in between. */
  readonly between?: true;
  /** The service waits for this before it acts. */
  readonly before?: Promise<unknown>;
}

export interface Says {
  readonly status: number;
  readonly text: string;
  /** Header fields of its own. */
  readonly fields?: { readonly [name: string]: string };
}

/** What stands for Ironic: it keeps what it is told, and microversions up to 1.`most`. */
interface Service {
  readonly most: number;
  readonly answer: (call: string, sent: Json, headers: IncomingHttpHeaders) => Says;
  /** Which calls are kept; all without it. */
  readonly kept?: (call: string) => boolean;
  /** Callers in this process reach it without a connection. */
  readonly here?: boolean;
}

/** What becomes of a call; null or nothing lets it pass. */
type Choice = (call: string, headers: IncomingHttpHeaders) => Fault | null | undefined;

/** Selects calls: one, those that match, or those for which it returns true. */
type Which = string | RegExp | ((call: string) => boolean);

export const isWrite = (call: string): boolean => !call.startsWith("GET");

/** An answer without any action of the service. */
export function instead(status: number, body: unknown = {}): Fault {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return { done: false, says: { status, text } };
}

/** Each write among calls, by its number among those that are alike. */
export const numberedWrites = (calls: readonly string[]) => numbered(calls.filter(isWrite));

/** Each call by its number among those that are alike. */
export function numbered(calls: readonly string[]) {
  const seen = new Map<string, number>();
  return calls.map((call) => {
    const nth = (seen.get(call) ?? 0) + 1;
    seen.set(call, nth);
    return [call, nth] as const;
  });
}

/** From the nth of it on, such a call is answered with 200, and nothing is done. @returns how many of these came */
export function idle({ use }: Pick<FaultyService, "use">, call: string, nth: number): () => number {
  let came = 0;
  use((made) => {
    if (made !== call) return null;
    came += 1;
    return came >= nth ? instead(200) : null;
  });
  return () => came - nth + 1;
}

/** Serves one on loopback until the test ends, with faults at calls of choice. */
export async function faultyService(
  t: Pick<TestContext, "after">,
  { most, answer, kept = () => true, here = false }: Service,
) {
  const calls: string[] = [];
  let choose: Choice = () => null;
  const heard = async (line: string, text: string, headers: IncomingHttpHeaders) => {
    // One address stands for all services: Nova's version, in front of its paths, is of no interest.
    const call = line.replace(" /v2.1/", " /");
    if (kept(call)) calls.push(call);
    const { done = true, says, between, before } = choose(call, headers) ?? {};
    await before;
    const own = done ? answer(call, parsedJson(text), headers) : null;
    const said = says === undefined ? own : says;
    const version = headers["x-openstack-ironic-api-version"];
    const fields = {
      "X-OpenStack-Ironic-API-Minimum-Version": "1.1",
      "X-OpenStack-Ironic-API-Maximum-Version": `1.${most}`,
      ...said?.fields,
      ...(version !== undefined &&
        !between && { "X-OpenStack-Ironic-API-Version": String(version) }),
    };
    return said === null ? null : { ...said, fields };
  };
  const server = createServer(async (asked, answered) => {
    const chunks: Buffer[] = [];
    for await (const chunk of asked) chunks.push(chunk as Buffer); // no encoding is set
    const text = Buffer.concat(chunks).toString();
    const said = await heard(`${asked.method} ${asked.url}`, text, asked.headers);
    if (said === null || answered.destroyed) return void asked.socket.resetAndDestroy();
    answered.writeHead(said.status, said.fields);
    answered.end(said.text);
  });
  const url = await listening(t, server);
  if (here) {
    answerHere(url, answering(heard));
    t.after(() => answerHere(url, null));
  }
  const use = (fault: Choice): void => {
    choose = fault;
  };
  return {
    ...{ url, calls, use },
    /** From now on each selected call gets this fault, or only the nth. @returns how many such calls came */
    fail(which: Which, fault: Fault, nth?: number) {
      let came = 0;
      use((call) => {
        if (!isOf(which, call)) return null;
        came += 1;
        return nth === undefined || came === nth ? fault : null;
      });
      return () => came;
    },
    /** From now on acts once, right before the nth selected call. @returns whether that call came */
    once(which: Which, does: () => void, nth = 1) {
      let came = 0;
      use((call) => {
        if (came === nth || !isOf(which, call)) return;
        came += 1;
        if (came === nth) does();
      });
      return () => came === nth;
    },
  };
}

export type FaultyService = Awaited<ReturnType<typeof faultyService>>;

function isOf(which: Which, call: string): boolean {
  if (typeof which === "function") return which(call);
  return typeof which === "string" ? call === which : which.test(call);
}

/** The answers of a service as the program's client gives them. */
function answering(
  heard: (call: string, text: string, headers: IncomingHttpHeaders) => Promise<Says | null>,
): NonNullable<Parameters<typeof answerHere>[1]> {
  return async ({ method, url, headers, body, into }) => {
    const { pathname, search } = new URL(url);
    // No call is answered before its caller goes on.
    await setImmediate();
    const text = body === undefined ? "" : JSON.stringify(body);
    const said = await heard(`${method} ${pathname}${search}`, text, lowered(headers));
    if (said === null) return { status: 0, reason: "ECONNRESET" };
    const { status, fields = {} } = said;
    const streams = into !== undefined && status === 200;
    if (streams) await into(Buffer.from(said.text));
    return { status, headers: lowered(fields), text: streams ? "" : said.text };
  };
}

function lowered(fields: { readonly [name: string]: string }): { [name: string]: string } {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name.toLowerCase(), value]),
  );
}
