import { type Answer, openSession } from "../edge/openstack/session.ts";
import { MigrationError } from "../model/error.ts";
import type { RefusalCode } from "../model/refusals.ts";
import { cloudFor, type RestOptions } from "./cloud.ts";
import type { Sink } from "./sink.ts";
import { waitingFor } from "./waiting.ts";

/** What is asked of a service of switchovers. */
interface AskWords extends Omit<RestOptions, "ironicUrl"> {
  /** Uuid or name. */
  readonly source: string;
  /** Absent: the service chooses. */
  readonly destination?: string;
  /** URL of `serve switchover`, or of the balancer before it. */
  readonly endpoint: string;
}

/** The first that knows volumes with storage_interface. */
const VERSION = "1.33";
/** Seconds a call may take. */
const LIMIT = 60;

/**
 * Asks a service for a switchover, and ends once that has accepted it.
 *
 * @throws MigrationError N2I-E106, N2I-E210, N2I-E211, N2I-E306, N2I-E381, N2I-E393
 */
export async function askSwitchover(
  words: AskWords,
  { result }: Pick<Sink, "result">,
): Promise<void> {
  const { source, destination, endpoint, apiTimeout = LIMIT } = words;
  const cloud = cloudFor({ ...words, ironicUrl: endpoint });
  const session = await waitingFor("logging in", () => openSession(cloud, apiTimeout * 1000));
  try {
    const path = `/v1/nodes/${encodeURIComponent(source)}/switchover`;
    const answer = await session.at(VERSION).call({
      ...{ method: "PUT", path },
      body: destination === undefined ? {} : { target_node: destination },
    });
    if (answer.status !== 202) throw refusal(answer, `${session.url}${path}`);
    const { location } = answer.headers;
    const shown = location?.startsWith("/") === true ? location : path;
    result(`Accepted: GET ${session.url}${shown} says how far it is.`);
  } finally {
    session.close();
  }
}

const CODES: { readonly [status: number]: RefusalCode } = {
  403: "N2I-E211",
  404: "N2I-E306",
  409: "N2I-E381",
};

function refusal({ status, fault }: Answer, url: string): MigrationError {
  // Where the answer was lost it may have been accepted.
  if (status === 0 || status >= 500)
    return new MigrationError(
      "N2I-E210",
      `${url} does not say that it accepts the switchover: ${fault}`,
      { fix: `Look with GET ${url} before you ask again.` },
    );
  const said = fault || `it answered ${status}`;
  return new MigrationError(CODES[status] ?? "N2I-E393", `${url}: ${said}`);
}
