import { isObject } from "../../lib/json.ts";
import type { Row } from "../../model/machine.ts";
import { ACCEPTED, mayPass, pause, rest, TRIES } from "../openstack/passing.ts";
import { stopIfForbidden } from "./create.ts";
import { type Link, tellsOf } from "./look.ts";
import { type Call, nextMove, noHistory, note } from "./move.ts";

/** Milliseconds a conductor may spend on one state: BMCs are given up long before. */
const PATIENCE_MS = 600_000;
const FIRST_LOOK_MS = 60;
const LONGEST_LOOK_MS = 1500;
/** Looks before a call that may be too early is made all the same: over a second. */
const LOOKS = 6;

/** What a step needs to be decided. */
const DECIDING = [
  ...["uuid", "provision_state", "target_provision_state", "last_error", "reservation"],
  ...["maintenance", "maintenance_reason", "traits"],
  ...["automated_clean", "protected", "protected_reason", "owner", "resource_class"],
];

/**
 * Brings a node that is there to its planned state, step by step, each decided by what the service
 * says then. Done by somebody else, done unseen or done twice makes no difference; a change the
 * service accepts and that never shows ends it.
 *
 * @param seen hears of the node whenever it was looked at
 * @returns null, or why it did not get there
 * @throws MigrationError N2I-E210, N2I-E211
 */
export async function drive(
  link: Link,
  planned: Row,
  from: Row,
  seen: (found: Row) => void,
): Promise<string | null> {
  const uuid = String(planned.uuid);
  const history = noHistory();
  const accepted = new Map<string, number>();
  let found = from;
  let tries = 0;
  /** The change of state that was accepted last, and from which state. */
  let last = "";
  /** What is known of the node is a 202 and not a look. */
  let believed = false;
  let waited = { state: found.provision_state, since: Date.now(), looks: 0 };
  const nap = async (): Promise<void> => {
    await rest(Math.min(LONGEST_LOOK_MS, FIRST_LOOK_MS * 1.5 ** waited.looks));
    waited.looks += 1;
  };
  for (;;) {
    const move = nextMove(planned, found, history);
    if (move.do === "done" && !believed) return null;
    if (move.do === "stop") return move.why;
    if (move.do === "wait") {
      if (Date.now() - waited.since > PATIENCE_MS)
        return `it is ${String(found.provision_state)} for ${PATIENCE_MS / 60_000} minutes`;
      await nap();
    } else if (move.do !== "done") {
      const { name, shows } = move;
      const mark = `${name} ${String(found.provision_state)}`;
      // A conductor that finds a node locked, or a change made twice, holds the call for a second.
      if ((isLocked(found) || mark === last) && waited.looks < LOOKS) await nap();
      else {
        const times = accepted.get(name) ?? 0;
        if (times > 0 && shows !== "later") return `${name} was accepted, and does not show`;
        if (times === ACCEPTED)
          return `${name} was accepted ${times} times, and it is ${String(found.provision_state)} still`;
        const path = `/v1/nodes/${uuid}${move.path}`;
        const answer = await link.service.tell(move.method, path, move.body);
        const isTaken = answer.status >= 200 && answer.status < 300;
        if (!isTaken) stopIfForbidden(link, `${name} of node ${uuid}`, answer);
        if (!isTaken && (!mayPass(answer) || tries === TRIES))
          return `${name} is refused: ${answer.fault}`;
        if (isTaken) {
          accepted.set(name, times + 1);
          waited.looks = 0;
        }
        const now = isTaken ? shownBy(link, move, found, answer.body) : null;
        if (!isTaken) await pause(tries);
        tries = isTaken ? 0 : tries + 1;
        if (now !== null) {
          believed = shows !== "answer";
          found = now;
          continue;
        }
        if (isTaken) {
          last = shows === "later" ? mark : last;
          note(history, name, found);
          await nap();
        }
      }
    }
    const next = await stateOf(link, uuid);
    if (next === null) return "it is gone";
    if (next.provision_state !== waited.state)
      waited = { state: next.provision_state, since: Date.now(), looks: 0 };
    found = next;
    believed = false;
    seen(found);
  }
}

/** A conductor works on it, or reads its power: it would refuse a change for now. */
function isLocked({ reservation }: Row): boolean {
  return typeof reservation === "string" && reservation !== "";
}

/** The node as an accepted call has left it, where that needs no look to go on. */
function shownBy({ rows }: Link, { shows }: Call, found: Row, body: unknown): Row | null {
  if (shows === "later") return null;
  if (shows !== "answer") return { ...found, ...shows };
  return isObject(body) && tellsOf(body, String(found.uuid)) ? rows.reported("node", body) : null;
}

async function stateOf({ service, rows }: Link, uuid: string): Promise<Row | null> {
  const fields = DECIDING.filter((field) => rows.tells("node", field)).join(",");
  const body = await service.ask(`/v1/nodes/${uuid}?fields=${fields}`);
  return body === null ? null : rows.reported("node", body);
}
