import { MigrationError } from "../../lib/error.ts";
import { isObject } from "../../lib/json.ts";
import type { Row } from "../../model/machine.ts";
import type { Resource } from "../../model/plan.ts";
import { mayPass, pause, TRIES } from "../openstack/passing.ts";
import { type Answer, refusedCall } from "../openstack/session.ts";
import { hiding, isAbout, type Link, listed, readReported } from "./body.ts";
import { asMade } from "./move.ts";

/**
 * After an unclear response it reads first, so an existing row is never created again.
 *
 * @returns the row, and whether this call created it `now`, or the reason of the last `answer`.
 *   `none`: all responses were refusals, so nothing was created
 * @throws MigrationError N2I-E210 without a response
 */
export async function create(link: Link, resource: Resource, row: Row) {
  const { service, rows } = link;
  const path = `/v1/${resource}s`;
  const body = rows.body(resource, resource === "node" ? asMade(row) : row);
  let none = true;
  for (let tries = 0; ; tries += 1) {
    const answer = read(await service.send("POST", path, body), row);
    if (answer.status === 201) return { row: rows.reported(resource, answer.body), now: true };
    none &&= answer.status >= 400 && answer.status < 500;
    if (!mayPass(answer)) return { reason: answer.fault, none, answer };
    const found = await readReported(link, resource, String(row.uuid));
    if (found !== null) {
      const isNew = resource === "port" || found.row.provision_state === "enroll";
      return { row: found.row, now: !none && isNew };
    }
    const reason = await refusalOf(link, resource, row, answer);
    if (reason !== null || tries === TRIES) return { reason: reason ?? answer.fault, none, answer };
    await pause(tries);
  }
}

/**
 * The reason not to retry. A duplicate name or instance is final, but a port's node may be locked.
 */
async function refusalOf(
  { service }: Link,
  resource: Resource,
  { address }: Row,
  { status, fault }: Answer,
): Promise<string | null> {
  if (resource === "node") return status === 409 ? fault : null;
  const found = await service.ask(`/v1/ports?address=${String(address)}`);
  const [holder] = listed(found, "ports");
  return isObject(holder) ? `${String(address)} is on port ${String(holder.uuid)} already` : null;
}

/** A response without the requested uuid proves nothing. It may be a proxy's page. */
function read(answer: Answer, { uuid }: Row): Answer {
  const { status } = answer;
  if (status < 200 || status >= 300 || (status === 201 && isAbout(answer.body, String(uuid))))
    return answer;
  const fault = `${status}, but the response does not contain the new resource`;
  return status === 201 ? { ...answer, status: 0, body: null, fault } : { ...answer, fault };
}

/** A missing role affects all machines. */
export function stopIfForbidden({ service }: Pick<Link, "service">, what: string, answer: Answer) {
  if (answer.status === 403 || answer.status === 406)
    throw refusedCall(service.session, what, answer);
}

/** Rows to create or delete. The node is null if only ports are missing. */
export interface AdoptedMachine {
  readonly uuid: string;
  readonly node: Row | null;
  readonly ports: readonly Row[];
}

/** The ids are step ids. */
export interface AdoptionOutcome {
  readonly done: string[];
  readonly found: string[];
  readonly skipped: { readonly id: string; readonly reason: string }[];
  failed: string | null;
  /** The machine's objects in Ironic, for messages. Empty if none is ours. */
  state: string;
  /** An error that stops all machines. */
  broke: MigrationError | null;
}

export function portId({ uuid }: Row): string {
  return `port:${String(uuid)}`;
}

export function idsOf({ uuid, node, ports }: AdoptedMachine): readonly string[] {
  return [...(node === null ? [] : [`node:${uuid}`]), ...ports.map(portId)];
}

/** One machine with its partial outcome. `fail` ends it with a reason. */
export interface Work {
  /** Removes the machine's secrets from messages. */
  readonly link: Link;
  readonly outcome: AdoptionOutcome;
  readonly fail: (reason: string) => void;
}

/** Works on one machine. Ends with the partial outcome after an error. */
export async function toItsEnd(
  shared: Link,
  machine: AdoptedMachine,
  direction: "forward" | "back",
  work: (at: Work) => Promise<void>,
): Promise<AdoptionOutcome> {
  const isBack = direction === "back";
  const outcome: AdoptionOutcome = {
    ...{ done: [], found: [], skipped: [], failed: null, broke: null },
    state: isBack ? "" : "its objects in Ironic are unknown",
  };
  const { link, hide } = hiding(shared, machine.node);
  const fail = (text: string): void => {
    const { state } = outcome;
    const reason = state === "" ? hide(text) : `${hide(text)}; ${state}`;
    if (isBack) outcome.skipped.push(...idsOf(machine).map((id) => ({ id, reason })));
    else outcome.failed = reason;
  };
  try {
    await work({ link, outcome, fail });
  } catch (cause) {
    // Other errors are bugs.
    if (!(cause instanceof MigrationError)) throw cause;
    outcome.broke = cause;
    fail(`${cause.code} ${cause.message}`);
  }
  return outcome;
}
