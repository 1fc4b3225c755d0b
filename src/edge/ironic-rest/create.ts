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

/** How one kind of row is made, and seen. */
interface Kind<T> {
  readonly path: "/v1/nodes" | "/v1/ports";
  readonly body: Row;
  readonly shown: (body: unknown) => T;
  readonly look: (uuid: string) => Promise<T | null>;
  /** Whether nobody told it to go on since it was made. */
  readonly isNew: (seen: T) => boolean;
  /** Why no other try would make it, when it is not there; null when one may. */
  readonly barred: (answer: Answer) => Promise<string | null>;
}

/** What is unclear is settled by a look: a row that is there is never made again. */
async function create<T>(
  link: Link,
  row: Row,
  { path, body, shown, look, isNew, barred }: Kind<T>,
): Promise<Made<T>> {
  let none = true;
  for (let tries = 0; ; tries += 1) {
    const answer = read(await link.service.tell("POST", path, body), row);
    if (answer.status === 201) return { seen: shown(answer.body), now: true };
    const why = answer.fault;
    none &&= isRefusal(answer);
    const broke = forbidden(link, `POST ${path}`, answer);
    if (broke !== null) return { why, none, broke };
    if (!mayPass(answer)) return { why, none };
    const seen = await look(String(row.uuid));
    if (seen !== null) return { seen, now: !none && isNew(seen) };
    const bar = (await barred(answer)) ?? (tries === TRIES ? why : null);
    if (bar !== null) return { why: bar, none };
    await pause(tries);
  }
}

/**
 * Makes a node under the uuid that was chosen for it. A duplicate of a name or an instance is no lock
 * to wait for.
 *
 * @throws MigrationError N2I-E210 when nothing is answered
 */
export function createNode(link: Link, row: Row): Promise<Made<SeenNode>> {
  return create(link, row, {
    path: "/v1/nodes",
    body: link.rows.body("node", asMade(row)),
    shown: (body) => seenNode(link.rows, body),
    look: (uuid) => lookAtNode(link, uuid),
    isNew: (seen) => seen.row.provision_state === NEW,
    barred: async ({ status, fault }) => (status === 409 ? fault : null),
  });
}

/** The same for a port, whose node may be locked for a moment. */
export function createPort(link: Link, row: Row): Promise<Made<Row>> {
  return create(link, row, {
    path: "/v1/ports",
    body: link.rows.body("port", row),
    shown: (body) => link.rows.told("port", body),
    look: (uuid) => lookAtPort(link, uuid),
    isNew: () => true,
    async barred() {
      const [holder] = await portsByAddress(link, String(row.address));
      const by = isObject(holder) ? String(holder.uuid) : null;
      return by === null ? null : `${String(row.address)} is on port ${by} already`;
    },
  });
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

/** A role that may not do this may do it for no machine. */
export function stopIfForbidden(link: Link, what: string, answer: Answer): void {
  const broke = forbidden(link, what, answer);
  if (broke !== null) throw broke;
}

function forbidden({ service }: Link, what: string, answer: Answer): MigrationError | null {
  const isForbidden = answer.status === 403 || answer.status === 406;
  return isForbidden ? refusedCall(service.session, what, answer) : null;
}
