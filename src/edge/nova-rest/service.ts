import { MigrationError } from "../../model/error.ts";
import { isObject } from "../../model/json.ts";
import type { ApiIdentity } from "../../model/nova-plan.ts";
import type { Cloud } from "../openstack/cloud.ts";
import { COMPUTE } from "../openstack/kinds.ts";
import { type Answer, ask, openSession } from "../openstack/session.ts";

/** The extra specs of a flavor; null when there is no such flavor. */
export type Specs = ReadonlyMap<string, string> | null;

/** Nova's API, spoken to at one microversion. */
export interface ComputeService {
  readonly url: string;
  readonly identity: ApiIdentity;
  /** A question; null when there is no such thing. @throws MigrationError N2I-E210 to N2I-E212 */
  readonly ask: (path: string) => Promise<unknown>;
  readonly specs: (flavorid: string) => Promise<Specs>;
  /** One try of a call that changes something. */
  readonly tell: (
    method: "POST" | "PUT" | "DELETE",
    path: string,
    body?: unknown,
  ) => Promise<Answer>;
  readonly close: () => void;
}

/** Extra specs are what they were since the first microversion; a Nova before it ignores the word. */
const VERSION = "2.1";

/**
 * Opens Nova's API.
 *
 * @param limit milliseconds a call may take
 * @throws MigrationError N2I-E106, N2I-E202, N2I-E210, N2I-E211, N2I-E212
 */
export async function openCompute(cloud: Cloud, limit: number): Promise<ComputeService> {
  const session = (await openSession(cloud, limit, COMPUTE)).at(VERSION);
  try {
    const body = await ask(session, "/flavors?limit=1");
    if (!isObject(body) || !Array.isArray(body.flavors))
      throw new MigrationError(
        "N2I-E202",
        `${session.url} is no compute service: it tells no flavors`,
        { fix: "Compare the compute endpoint of the catalog; it ends in /v2 or /v2.1." },
      );
    return {
      url: session.url,
      // The project is part of the URL, and who plans may be of another one than who applies.
      identity: {
        kind: "rest",
        address: session.url.replace(/\/[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}$/i, ""),
        version: VERSION,
      },
      ask: (path) => ask(session, path),
      async specs(flavorid) {
        const answer = await ask(session, specsPath(flavorid));
        if (answer === null) return null;
        if (!isObject(answer) || !isObject(answer.extra_specs))
          throw new MigrationError(
            "N2I-E212",
            `${session.url} tells no extra_specs of flavor ${flavorid}`,
          );
        return new Map(
          Object.entries(answer.extra_specs).map(([key, value]) => [key, String(value)]),
        );
      },
      tell: (method, at, words) => session.call({ method, path: at, body: words }),
      close: session.close,
    };
  } catch (error) {
    session.close();
    throw error;
  }
}

/** @source facts/nova-bm.md 4.3 */
export function specsPath(flavorid: string, key?: string): string {
  const base = `/flavors/${encodeURIComponent(flavorid)}/os-extra_specs`;
  return key === undefined ? base : `${base}/${encodeURIComponent(key)}`;
}
