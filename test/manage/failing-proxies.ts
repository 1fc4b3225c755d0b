import type { TestContext } from "node:test";
import { type Fault, faultyProxy } from "../lab/ironic/faulty.ts";

/**
 * What becomes of a call that changes something; null: it passes.
 *
 * @param before such calls so far, `POST /v1/allocations`; those that failed begin with `failed`
 */
export type Chosen = (
  line: string,
  before: readonly string[],
) => Fault | null | Promise<Fault | null>;

export const FAILED = /^failed /;

/** Puts proxies before real services, and tells which calls failed there. */
export function failingProxies(t: TestContext, choose: Chosen) {
  const lines: string[] = [];
  return {
    /** @returns the URL of a proxy before a service's own */
    async before(service: string): Promise<string> {
      const { url, use } = await faultyProxy(service, t);
      use(async ({ method, path }) => {
        const line = `${method} ${path}`;
        if (method === "GET") return null;
        const chosen = await choose(line, lines);
        lines.push(chosen === null ? line : `failed ${line}`);
        return chosen;
      });
      return url;
    },
    failed: (): readonly string[] => lines.filter((line) => FAILED.test(line)),
  };
}
