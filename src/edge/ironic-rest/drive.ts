import { setTimeout as sleep } from "node:timers/promises";
import { isObject } from "../../model/json.ts";
import type { Row } from "../../model/machine.ts";
import { stopIfForbidden } from "./create.ts";
import type { Road } from "./look.ts";
import { errorOf, type History, type Move, nextMove } from "./move.ts";
import { mayPass, pause, TRIES } from "./pause.ts";
import type { Answer } from "./session.ts";

/** Milliseconds a conductor may spend on one state: BMCs are given up long before. */
const PATIENCE_MS = 600_000;
const FIRST_LOOK_MS = 60;
const LONGEST_LOOK_MS = 1500;

/** What a step needs to be decided. */
const DECIDING = [
  ...["uuid", "provision_state", "target_provision_state", "last_error", "reservation"],
  ...["maintenance", "maintenance_reason", "traits"],
  ...["automated_clean", "protected", "protected_reason"],
];

/**
 * Brings a node that is there to its planned state, step by step, each decided by what the service
 * says then. Done by somebody else, done unseen or done twice makes no difference.
 *
 * @param seen told of the node whenever it was looked at
 * @returns null, or why it did not get there
 * @throws MigrationError N2I-E210, N2I-E211
 */
export async function drive(
  road: Road,
  planned: Row,
  from: Row,
  seen: (found: Row) => void,
): Promise<string | null> {
  const uuid = String(planned.uuid);
  const history: History = { managed: false, failed: null };
  let found = from;
  const accepted = new Set<Move["do"]>();
  let tries = 0;
  let waited = { state: found.provision_state, since: Date.now(), looks: 0 };
  for (;;) {
    const move = nextMove(planned, found, history);
    if (move.do === "done") return null;
    if (move.do === "stop") return move.why;
    if (move.do === "wait") {
      if (Date.now() - waited.since > PATIENCE_MS)
        return `it is ${String(found.provision_state)} for ${PATIENCE_MS / 60_000} minutes`;
      await sleep(Math.min(LONGEST_LOOK_MS, FIRST_LOOK_MS * 1.5 ** waited.looks));
      waited.looks += 1;
    } else {
      if (accepted.has(move.do)) return `${move.do} was accepted, and does not show`;
      const answer = await tell(road, uuid, move);
      if (answer.status >= 200 && answer.status < 300) {
        tries = 0;
        // Of these one is enough; a node passes several provision states.
        if (move.do !== "provision") accepted.add(move.do);
        note(history, move, found);
        if (move.do === "hold" || move.do === "release") {
          const held = move.do === "hold";
          const reason = held ? move.reason : null;
          found = { ...found, maintenance: held, maintenance_reason: reason };
          continue;
        }
        if (move.do === "traits") {
          found = { ...found, traits: move.traits };
          continue;
        }
        if (move.do === "protect" && isObject(answer.body)) {
          found = road.rows.told("node", answer.body);
          continue;
        }
        await sleep(FIRST_LOOK_MS);
      } else {
        stopIfForbidden(road, told(uuid, move), answer);
        if (!mayPass(answer) || tries === TRIES)
          return `${move.do === "provision" ? move.target : move.do} is refused: ${answer.fault}`;
        await pause(tries);
        tries += 1;
      }
    }
    const next = await stateOf(road, uuid);
    if (next === null) return "it is gone";
    if (next.provision_state !== waited.state)
      waited = { state: next.provision_state, since: Date.now(), looks: 0 };
    found = next;
    seen(found);
  }
}

function note(history: History, move: Move, found: Row): void {
  if (move.do !== "provision" || move.target !== "manage") return;
  if (found.provision_state === "adopt failed") history.failed = errorOf(found);
  else history.managed = true;
}

async function stateOf({ service, rows }: Road, uuid: string): Promise<Row | null> {
  const fields = DECIDING.filter((field) => rows.tells("node", field)).join(",");
  const body = await service.ask(`/v1/nodes/${uuid}?fields=${fields}`);
  return body === null ? null : rows.told("node", body);
}

type Call = Exclude<Move, { readonly do: "wait" | "done" | "stop" }>;

function tell({ service }: Road, uuid: string, move: Call): Promise<Answer> {
  const node = `/v1/nodes/${uuid}`;
  switch (move.do) {
    case "provision":
      return service.tell("PUT", `${node}/states/provision`, { target: move.target });
    case "hold":
      return service.tell(
        "PUT",
        `${node}/maintenance`,
        move.reason === null ? {} : { reason: move.reason },
      );
    case "release":
      return service.tell("DELETE", `${node}/maintenance`);
    case "traits":
      return service.tell("PUT", `${node}/traits`, { traits: move.traits });
    case "protect":
      return service.tell("PATCH", node, move.patch);
  }
}

function told(uuid: string, move: Call): string {
  return `${move.do === "provision" ? move.target : move.do} of node ${uuid}`;
}
