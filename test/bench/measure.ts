import { mkdtempSync, rmSync } from "node:fs";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";

export type Write = (text: string) => void;

/** Reports a value and whether it is within its limit; MISSED makes the exit status 1. */
export function judge(write: Write, what: string, value: number, limit: number): void {
  write(`  ${value <= limit ? "held  " : "MISSED"} ${what} ${value.toFixed(2)}, limit ${limit}\n`);
}

/** Seconds that the work takes. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return (performance.now() - began) / 1000;
}

export function middle(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

/** Gives the work a temporary folder. */
export async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), "n2i-bench-"));
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

export interface Ends {
  readonly after: (end?: unknown) => void;
}

/** Gives the work the `after` of a test, and calls what was registered in reverse order. */
export async function withEnds<T>(work: (t: Ends) => Promise<T>): Promise<T> {
  const ends: (() => unknown)[] = [];
  try {
    return await work({ after: (end) => void ends.push(end as () => unknown) });
  } finally {
    for (const end of ends.toReversed()) await end();
  }
}

const HEADERS = { "X-OpenStack-Ironic-API-Version": "1.82", "Content-Type": "application/json" };
const KEPT = new Agent({ keepAlive: true });

/** A call of Ironic's API on a connection that is kept open. */
export function call(
  method: string,
  url: string,
  body?: unknown,
): Promise<{ readonly status: number; readonly text: string }> {
  return new Promise((resolve, reject) => {
    const asked = request(url, { method, agent: KEPT, headers: HEADERS }, (answer) => {
      let text = "";
      answer.setEncoding("utf8").on("data", (more: string) => {
        text += more;
      });
      answer.on("error", reject);
      answer.on("end", () => resolve({ status: answer.statusCode ?? 0, text }));
    });
    asked.on("error", reject).end(body === undefined ? undefined : JSON.stringify(body));
  });
}

/** The text of a successful call. @throws Error with the answer of any other */
export async function said(method: string, url: string, body?: unknown): Promise<string> {
  const { status, text } = await call(method, url, body);
  if (status < 200 || status > 299) throw new Error(`${url}: ${text}`);
  return text;
}
