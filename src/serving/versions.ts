import { MigrationError } from "../lib/error.ts";
import type { Http } from "../systems/openstack/http.ts";
import { versionsAt } from "./for-caller.ts";
import { type Range, rangeOf } from "./rules/upstream.ts";
import { makeRoom } from "./tokens.ts";

/** A catalog may have one URL per project. */
const MOST_URLS = 100;

/** @throws MigrationError N2I-E210 without a response, N2I-E202 if it is not Ironic */
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
  const said = await versionsAt(http, url);
  if ("why" in said) throw new MigrationError("N2I-E210", unanswered("Ironic", said.why));
  const range = rangeOf(said.minimum, said.maximum, said.body);
  if (range !== undefined) return range;
  throw new MigrationError("N2I-E202", "the service at Ironic's URL is not a bare metal service");
}

/** @param why `it answered 500`, or a connection error */
export function unanswered(service: string, why: string): string {
  return why.startsWith("it ")
    ? `${service} ${why.slice("it ".length)}`
    : `${service} does not answer: ${why}`;
}
