import { MigrationError } from "../../model/error.ts";
import { isObject, type JsonObject, parsedJson } from "../../model/json.ts";
import { faultOf } from "../openstack/fault.ts";
import type { Answered, Http, HttpCall, Unanswered } from "../openstack/http.ts";
import type { BrokerAddress } from "./address.ts";

/** How a queue stands. The broker counts every five seconds: what just came may not be counted. */
interface QueueDepth {
  readonly messages: number;
  readonly consumers: number;
}

/** What keeps a queue's depth from being known. */
interface NotKnown {
  readonly unknown: string;
}

/** A message broker's queues. */
export interface Broker {
  readonly shown: string;
  /**
   * Null where Nova has no such queue.
   *
   * @throws MigrationError N2I-E210 to N2I-E213
   */
  readonly depth: (queue: string) => Promise<QueueDepth | NotKnown | null>;
  /** Takes every message away. @throws MigrationError N2I-E210 to N2I-E213 */
  readonly purge: (queue: string) => Promise<void>;
  readonly close: () => Promise<void>;
}

/** Every nova-compute reads it beside its own: a vhost without it is not Nova's. @source nova compute/rpcapi.py */
const SHARED = "compute";

/** @source RabbitMQ management HTTP API: /api/queues/VHOST/NAME, /api/queues/VHOST/NAME/contents */
export function openBroker(
  { shown, origin, vhost, user, password }: BrokerAddress,
  http: Http,
): Broker {
  const secret = password();
  const login = Buffer.from(`${user}:${secret}`).toString("base64");
  const at = (queue: string): string =>
    `${origin}/api/queues/${encodeURIComponent(vhost)}/${encodeURIComponent(queue)}`;
  const send = async (method: HttpCall["method"], url: string): Promise<Answered> => {
    // What has no body to send has no JSON either: asked for that alone, a purge is 406.
    const headers = { Authorization: `Basic ${login}`, Accept: "application/json, */*;q=0.5" };
    const answer = await http.send({ method, url, headers });
    if (isNone(answer)) throw new MigrationError("N2I-E210", `${shown}: ${answer.why}`);
    const { status, text } = answer;
    if (status === 401 || status === 403)
      throw new MigrationError("N2I-E211", `${shown} refuses the login (${status})`, {
        fix: "The user wants the tag management, and configure, write and read on the vhost.",
      });
    if (status === 404 || (status >= 200 && status < 300)) return answer;
    const why = faultOf(text, [secret, login]);
    throw new MigrationError("N2I-E212", `${shown} answered ${status}: ${why}`);
  };
  /** What is said of a queue; null where there is none, or no such vhost: the answer is the same. */
  const about = async (queue: string): Promise<JsonObject | null> => {
    const { status, text } = await send("GET", at(queue));
    if (status === 404) return null;
    const body = parsedJson(text);
    if (!isObject(body) || body.name !== queue || body.vhost !== vhost)
      throw new MigrationError("N2I-E212", `${shown} is no management API of RabbitMQ`);
    return body;
  };
  return {
    shown,
    async depth(queue) {
      const body = await about(queue);
      if (body === null) {
        if ((await about(SHARED)) !== null) return null;
        const unknown = `vhost ${vhost} of ${shown} has neither ${queue} nor ${SHARED}: it is not Nova's`;
        return { unknown };
      }
      const { messages, consumers } = body;
      // Of a queue whose node is down nothing is counted.
      if (typeof messages !== "number" || typeof consumers !== "number")
        return { unknown: `${shown} does not count what is in ${queue}` };
      return { messages, consumers };
    },
    async purge(queue) {
      await send("DELETE", `${at(queue)}/contents`);
    },
    close: () => Promise.resolve(http.close()),
  };
}

function isNone(answer: Answered | Unanswered): answer is Unanswered {
  return answer.status === 0;
}
