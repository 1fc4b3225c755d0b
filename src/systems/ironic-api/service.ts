import { MigrationError } from "../../lib/error.ts";
import type { TargetIdentity } from "../../model/artefact.ts";
import { minorOf, type RestDoc } from "../../model/ironic/rest.ts";
import type { Release } from "../../model/ironic/target.ts";
import type { Cloud } from "../openstack/cloud.ts";
import {
  type Answer,
  answerTo,
  ask,
  openSession,
  type ServiceSession,
} from "../openstack/session.ts";

export interface RestService {
  readonly identity: TargetIdentity;
  readonly release: Release;
  readonly minor: number;
  readonly session: ServiceSession;
  /** Null for a missing object. @throws MigrationError N2I-E210 to N2I-E212 */
  readonly ask: (path: string) => Promise<unknown>;
  /** One changing call, without retries. */
  readonly send: (
    method: "POST" | "PUT" | "PATCH" | "DELETE",
    path: string,
    body?: unknown,
  ) => Promise<Answer>;
  /** The same service, whose messages omit these secrets and parts of them. */
  readonly hiding: (secrets: readonly string[]) => RestService;
}

export const MINIMUM = "x-openstack-ironic-api-minimum-version";
export const MAXIMUM = "x-openstack-ironic-api-maximum-version";
const MICROVERSION = "x-openstack-ironic-api-version";

/** The oldest microversion of each use. @source facts/ironic.md 4.1, facts/systems.md C2 */
const NEEDED = {
  "resource classes": { minor: 21, requirement: "resource classes need 1.21 (Ocata)" },
  // The minor of automated_clean, the newest field that a driver exchange needs.
  "driver exchange": { minor: 47, requirement: "replacing a driver safely needs 1.47 (Stein)" },
  switchover: { minor: 47, requirement: "a switchover needs 1.47 (Stein)" },
  allocation: { minor: 58, requirement: "an allocation for a node in use needs 1.58 (Train)" },
} as const;

/** @throws MigrationError N2I-E209 if the service is too old */
export function checkMinor(service: RestService, use: keyof typeof NEEDED): void {
  const { minor, requirement: text } = NEEDED[use];
  if (service.minor < minor) throw tooOld(service.session.url, service.identity.version, text);
}

function tooOld(url: string, maximum: string, requirement: string): MigrationError {
  const text = `${url} supports microversions up to ${maximum}, but ${requirement} or later`;
  return new MigrationError("N2I-E209", text);
}

/**
 * Pins the newest microversion of the newest known release that the service supports. Newer
 * services support it as well.
 *
 * @param requested release, if several have the same microversions
 * @param limit milliseconds per call
 * @throws MigrationError N2I-E106, N2I-E202, N2I-E208, N2I-E209, N2I-E210, N2I-E211, N2I-E212
 * @source facts/ironic.md 0.8, 1.1, 4.1
 */
export async function openService(
  cloud: Cloud,
  releases: readonly Release[],
  doc: RestDoc,
  requested: string | undefined,
  limit: number,
): Promise<RestService> {
  const session = await openSession(cloud, limit);
  try {
    const { minimum, maximum } = await versionsOf(session);
    const release = releaseFor(releases, doc, maximum, requested, session.url);
    const version = release.doc.api ?? "";
    const identity: TargetIdentity = {
      engine: "rest",
      address: session.url,
      database: "v1",
      version: maximum,
      server: `OpenStack Ironic API ${minimum}-${maximum}`,
      alembic_head: version,
      release: release.doc.release,
      charset: "utf8",
    };
    const versioned = session.at(version);
    await greet(versioned, version);
    return pinned({ identity, release, minor: minorOf(version) }, versioned, version, []);
  } catch (error) {
    session.close();
    throw error;
  }
}

function pinned(
  base: Pick<RestService, "identity" | "release" | "minor">,
  session: ServiceSession,
  version: string,
  hidden: readonly string[],
): RestService {
  const call: ServiceSession["call"] = async (args) =>
    checkedAnswer(await session.call({ ...args, hidden }), version);
  const versioned: ServiceSession = { ...session, call };
  return {
    ...base,
    session: versioned,
    ask: (path) => ask(versioned, path),
    send: (method, path, body) => call({ method, path, body }),
    hiding: (secrets) => pinned(base, session, version, secrets),
  };
}

/** Checks access and the microversion of responses. */
async function greet(session: ServiceSession, version: string): Promise<void> {
  const path = "/v1/nodes?limit=1&fields=uuid";
  const answer = await answerTo(session, path, foundAnswer);
  if (answer.headers[MICROVERSION] !== version)
    throw new MigrationError("N2I-E209", `${session.url}: ${otherwise(answer, version)}`, {
      fix: "Check the proxies in front of Ironic: one of them drops or changes header fields.",
    });
}

/**
 * A success or 404 without the requested microversion is from a proxy, so the effect is unknown.
 */
export function checkedAnswer(answer: Answer, version: string): Answer {
  const { status } = answer;
  const counts = (status >= 200 && status < 300) || status === 404;
  if (!counts || answer.headers[MICROVERSION] === version) return answer;
  return { ...answer, status: 0, body: null, fault: otherwise(answer, version) };
}

function otherwise({ status, headers }: Answer, version: string): string {
  const what = status === 404 ? "its 404 response" : "its response";
  return `${what} has microversion ${String(headers[MICROVERSION] ?? "none")}, but the request had ${version}`;
}

/** Every Ironic has these paths. A proxy without a backend returns 404. */
function foundAnswer(answer: Answer): Answer {
  const { status, fault } = answer;
  const reason = `${fault}, which a bare metal service never returns`;
  return status === 404 ? { ...answer, status: 0, fault: reason } : answer;
}

async function versionsOf(session: ServiceSession) {
  const { headers } = await answerTo(session, "/v1/", foundAnswer);
  const [minimum, maximum] = [headers[MINIMUM], headers[MAXIMUM]];
  if (typeof minimum !== "string" || typeof maximum !== "string" || !/^1\.\d+$/.test(maximum))
    throw new MigrationError(
      "N2I-E202",
      `${session.url} is not a bare metal service: its response has no microversion headers`,
      { fix: "Compare --ironic-url with the baremetal endpoint in the catalog." },
    );
  return { minimum, maximum };
}

function releaseFor(
  releases: readonly Release[],
  doc: RestDoc,
  maximum: string,
  requested: string | undefined,
  url: string,
): Release {
  const usable = releases.filter(({ doc: { api } }) => api !== null && minorOf(api) >= doc.adopt);
  const compatible = usable.filter(({ doc: { api } }) => minorOf(api ?? "") <= minorOf(maximum));
  const newest = compatible.at(-1)?.doc.api;
  const newestOnes = compatible.filter(({ doc: { api } }) => api === newest);
  const [only, ...rest] = newestOnes;
  // A microversion between two releases is of no known release.
  const oldest = usable[0]?.doc;
  if (only === undefined)
    throw tooOld(url, maximum, `adoption needs ${oldest?.api} (${oldest?.release})`);
  const matching = newestOnes.find((release) => release.doc.release === requested);
  if (matching !== undefined) return matching;
  const names = newestOnes.map((release) => release.doc.release).join(", ");
  if (rest.length > 0)
    throw new MigrationError(
      "N2I-E208",
      `the microversions of ${url} are those of several releases: ${names}`,
      { fix: "Find out which release is running, then pass --ironic-release." },
    );
  return only;
}

/** @throws MigrationError N2I-E208 if the release differs from --ironic-release */
export function expectServiceRelease(
  { release, identity }: RestService,
  requested: string | undefined,
): void {
  if (requested !== undefined && requested !== release.doc.release)
    throw new MigrationError(
      "N2I-E208",
      `--ironic-release is ${requested}, but ${identity.address} has the microversions of ${release.doc.release}`,
      { fix: "Omit --ironic-release, or correct --ironic-url." },
    );
}
