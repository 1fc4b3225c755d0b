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
export function ranges(http: Http): {
  readonly of: (url: string) => Promise<Range>;
  readonly forget: (url: string) => void;
} {
  const known = new Map<string, Promise<Range>>();
  return {
    of(url) {
      const kept = known.get(url);
      if (kept !== undefined) return kept;
      const asked = askRange(http, url);
      makeRoom(known, MOST_URLS);
      known.set(url, asked);
      asked.catch(() => known.get(url) === asked && known.delete(url));
      return asked;
    },
    forget: (url) => void known.delete(url),
  };
}

async function askRange(http: Http, url: string): Promise<Range> {
  const answer = await http.send({ method: "GET", url: `${url}/v1/`, headers: {} });
  const wrong =
    "why" in answer ? answer.why : answer.status === 200 ? null : `it answered ${answer.status}`;
  if ("why" in answer || wrong !== null)
    throw new MigrationError("N2I-E210", unanswered("Ironic", wrong ?? ""));
  const { headers, text } = answer;
  const range = rangeOf(headers[MINIMUM], headers[MAXIMUM], parsedJson(text));
  if (range !== undefined) return range;
  throw new MigrationError("N2I-E202", "the service at Ironic's URL is not a bare metal service");
}

/** @param why `it answered 500`, or a connection error */
export function unanswered(service: string, why: string): string {
  return why.startsWith("it ")
    ? `${service} ${why.slice("it ".length)}`
    : `${service} does not answer: ${why}`;
}
