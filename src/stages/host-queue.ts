import { openHttp } from "../edge/openstack/http.ts";
import { readBrokerAddress } from "../edge/rabbit/address.ts";
import { type Broker, openBroker } from "../edge/rabbit/queues.ts";
import { MigrationError } from "../model/error.ts";
import type { Keep } from "./databases.ts";
import type { RunSession } from "./session.ts";
import type { Sink } from "./sink.ts";
import { surroundings } from "./surroundings.ts";

/** Where the message broker is. */
export interface BrokerWords {
  readonly rabbitUrl?: string;
  readonly osCacert?: string;
  readonly insecure?: boolean;
  /** Seconds. */
  readonly apiTimeout?: number;
}

/** Seconds a call may take. */
const LIMIT = 60;

/** The broker that the options name; null where none does. */
export async function openBrokerOf(words: BrokerWords, keep: Keep): Promise<Broker | null> {
  const { rabbitUrl, osCacert, insecure = false, apiTimeout = LIMIT } = words;
  if (rabbitUrl === undefined) return null;
  const address = await readBrokerAddress(rabbitUrl, surroundings().env);
  const tls = { cacert: osCacert ?? null, cert: null, key: null, insecure };
  return keep(openBroker(address, openHttp(tls, apiTimeout * 1000)));
}

/** The queue in which requests to a host's nova-compute lie. */
export function queueOf(host: string): string {
  return `compute.${host}`;
}

/** Says how the queue of a host stands. @throws MigrationError N2I-E212 where that is not known */
export async function tellQueue(
  broker: Broker,
  host: string,
  tell: (text: string) => void,
): Promise<void> {
  const depth = await depthOf(broker, host);
  const read =
    depth === null || depth.consumers === 0 ? "" : `, and ${depth.consumers} consumers read it`;
  tell(
    `${queueOf(host)}: ${depth === null ? "there is no such queue" : `${depth.messages} messages wait`}${read}.`,
  );
}

/**
 * What stands against a queue being empty and unread, in words; null where nothing does. What the broker
 * counts goes before the operator's word, and that before not knowing.
 *
 * @param purged the operator's word
 */
export async function queueFault(
  broker: Broker,
  host: string,
  purged: boolean,
): Promise<string | null> {
  const depth = await broker.depth(queueOf(host)).catch((cause: unknown) => {
    if (!purged || !(cause instanceof MigrationError)) throw cause;
    return { unknown: cause.message };
  });
  if (depth !== null && "unknown" in depth) return purged ? null : `not known: ${depth.unknown}`;
  if (depth === null || depth.messages + depth.consumers === 0) return null;
  return `${queueOf(host)} has ${depth.messages} messages and ${depth.consumers} consumers`;
}

/** How a host's queue stands; null where it has none. @throws MigrationError N2I-E212 where that is not known */
export async function depthOf(broker: Broker, host: string) {
  const depth = await broker.depth(queueOf(host));
  if (depth === null || !("unknown" in depth)) return depth;
  throw new MigrationError("N2I-E212", depth.unknown, {
    fix: "Name Nova's vhost in --rabbit-url; transport_url of nova.conf says which that is.",
  });
}

/**
 * What waits in the queue of a host that is taken for dead; null where it has none.
 *
 * @throws MigrationError N2I-E316 while somebody reads it
 */
export async function checkUnread(broker: Broker, host: string) {
  const depth = await depthOf(broker, host);
  if (depth !== null && depth.consumers > 0)
    throw new MigrationError(
      "N2I-E316",
      `${depth.consumers} consumers read ${queueOf(host)}: a nova-compute of ${host} runs`,
    );
  return depth;
}

/** Journal's name of what is done to queues. */
const QUEUE = "host-queue";
/** Milliseconds between two looks at a queue, and the longest wait for its count. */
const PACE = 500;
const PATIENCE = 30_000;
/**
 * Milliseconds for which it must be seen empty: the broker counts anew each five seconds, and Nova may have read the
 * old host just before it moved: Neutron tells it of ports up to two seconds later.
 */
const SETTLED = 7_500;

/**
 * Empties the queue of a host, and what comes into it meanwhile; the journal says how many messages were taken
 * away, which nothing brings back.
 *
 * @throws MigrationError N2I-E316 while somebody reads it, before or after, or what is in it does not go
 */
export async function purgeQueue(
  broker: Broker,
  host: string,
  { journal, now, by, clock }: Pick<RunSession, "journal" | "now" | "by" | "clock">,
  { result }: Pick<Sink, "result">,
): Promise<void> {
  const queue = queueOf(host);
  const before = await checkUnread(broker, host);
  if (before === null) return result(`${queue}: there is no such queue.`);
  const about = { part: QUEUE, id: queue };
  let taken = 0;
  const purge = async (messages: number): Promise<void> => {
    await journal.append({ do: "start", ...about, at: now(), by, observed: { messages } });
    await broker.purge(queue);
    taken += messages;
  };
  await purge(before.messages);
  for (let [waited, purged, empty] = [0, 0, 0]; ; waited += PACE, purged += PACE) {
    // One that came meanwhile has taken messages before they were purged, and acts on them.
    const { messages = 0 } = (await checkUnread(broker, host)) ?? {};
    empty = messages === 0 ? empty + PACE : 0;
    if (empty > SETTLED) break;
    if (messages > 0 && purged >= SETTLED) {
      // What is counted so long afterwards came after it.
      await purge(messages);
      purged = 0;
    }
    if (messages > 0 && waited >= PATIENCE)
      throw new MigrationError(
        "N2I-E316",
        `${queue} was purged and has ${messages} messages all the same`,
        { fix: `On the broker run: rabbitmqctl purge_queue ${queue}` },
      );
    await clock.sleep(PACE);
  }
  await journal.append({ do: "end", ...about, at: now() });
  result(`${queue} was emptied: ${taken} messages were there.`);
}
