import type { MigrationError } from "../../model/error.ts";
import { isObject } from "../../model/json.ts";
import type { Row } from "../../model/machine.ts";
import { mayPass, pause, TRIES } from "../openstack/passing.ts";
import { type Answer, refusedCall } from "../openstack/session.ts";
import { asMade } from "./found-state.ts";
import {
  type Link,
  lookAtNode,
  lookAtPort,
  portsByAddress,
  type SeenNode,
  seenNode,
  tellsOf,
} from "./look.ts";

/** What is there now, whether this call made it, or why it cannot be made. */
type Made<T> =
  | { readonly seen: T; readonly now: boolean }
  /**
   * `none`: every answer was a refusal, so that nothing of it can be there by our hand; `broke`: no
   * other machine can be made either.
   */
  | { readonly why: string; readonly none: boolean; readonly broke?: MigrationError };

/**
 * Makes a node under the uuid that was chosen for it. What is unclear is settled by a look: a node
 * that is there is never made again, and a duplicate of a name or an instance is no lock to wait for.
 *
 * @throws MigrationError N2I-E210 when nothing is answered
 */
export async function createNode(link: Link, row: Row): Promise<Made<SeenNode>> {
  const { service, rows } = link;
  const body = rows.body("node", asMade(row));
  let none = true;
  for (let tries = 0; ; tries += 1) {
    const answer = read(await service.tell("POST", "/v1/nodes", body), row);
    if (answer.status === 201) return { seen: seenNode(rows, answer.body), now: true };
    const why = answer.fault;
    none &&= isRefusal(answer);
    const broke = forbidden(link, "POST /v1/nodes", answer);
    if (broke !== null) return { why, none, broke };
    if (!mayPass(answer)) return { why, none };
    const seen = await lookAtNode(link, String(row.uuid));
    if (seen !== null) return { seen, now: !none && seen.row.provision_state === NEW };
    if (answer.status === 409 || tries === TRIES) return { why, none };
    await pause(tries);
  }
}

/** A 201 that does not tell what we asked for says nothing: some proxy's page, or half an answer. */
function read(answer: Answer, { uuid }: Row): Answer {
  if (answer.status !== 201 || tellsOf(answer.body, String(uuid))) return answer;
  return { ...answer, status: 0, body: null, fault: "201, and not what was made" };
}

/** State of a node that was made a moment ago, and that nobody told to go on. */
const NEW = "enroll";

/** Answered, and not done: a server that failed, or did not answer, may have done it. */
function isRefusal({ status }: Answer): boolean {
  return status >= 400 && status < 500;
}

/** The same for a port, whose node may be locked for a moment. */
export async function createPort(link: Link, row: Row): Promise<Made<Row>> {
  const { service, rows } = link;
  const body = rows.body("port", row);
  let none = true;
  for (let tries = 0; ; tries += 1) {
    const answer = read(await service.tell("POST", "/v1/ports", body), row);
    if (answer.status === 201) return { seen: rows.told("port", answer.body), now: true };
    none &&= isRefusal(answer);
    const broke = forbidden(link, "POST /v1/ports", answer);
    if (broke !== null) return { why: answer.fault, none, broke };
    if (!mayPass(answer)) return { why: answer.fault, none };
    const seen = await lookAtPort(link, String(row.uuid));
    if (seen !== null) return { seen, now: !none };
    const [holder] = await portsByAddress(link, String(row.address));
    if (isObject(holder))
      return { why: `${String(row.address)} is on port ${String(holder.uuid)} already`, none };
    if (tries === TRIES) return { why: answer.fault, none };
    await pause(tries);
  }
}

/** A role that may not do this may do it for no machine. */
export function stopIfForbidden(link: Link, what: string, answer: Answer): void {
  const broke = forbidden(link, what, answer);
  if (broke !== null) throw broke;
}

function forbidden({ service }: Link, what: string, answer: Answer): MigrationError | null {
  const isForbidden = answer.status === 403 || answer.status === 406;
  return isForbidden ? refusedCall(service.session, what, answer) : null;
}
