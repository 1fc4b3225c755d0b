import { MigrationError } from "../lib/error.ts";
import { parsedJson } from "../lib/json.ts";
import { MAXIMUM, MINIMUM } from "../systems/ironic-api/service.ts";
import type { Http } from "../systems/openstack/http.ts";
import { type Range, rangeOf } from "./rules/upstream.ts";
import { makeRoom } from "./tokens.ts";

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
