import type { MigrationError } from "../../lib/error.ts";
import { isObject } from "../../lib/json.ts";
import type { Row } from "../../model/machine.ts";
import type { Resource } from "../../model/plan.ts";
import { mayPass, pause, TRIES } from "../openstack/passing.ts";
import { type Answer, refusedCall } from "../openstack/session.ts";
import { type IronicRow, isAbout, type Link, listed, readReported, readRowOf } from "./body.ts";
import { asMade } from "./move.ts";

/** `now`: this call created the row. */
type Made =
  | { readonly view: IronicRow; readonly now: boolean }
  /** `none`: all responses were refusals, so nothing was created. `broke`: affects all machines. */
  | { readonly reason: string; readonly none: boolean; readonly broke?: MigrationError };

/**
 * After an unclear response it reads first, so an existing row is never created again.
 *
 * @throws MigrationError N2I-E210 without a response
 */
export async function create(link: Link, resource: Resource, row: Row): Promise<Made> {
  const { service, rows } = link;
  const path = `/v1/${resource}s`;
  const body = rows.body(resource, resource === "node" ? asMade(row) : row);
  let none = true;
  for (let tries = 0; ; tries += 1) {
    const answer = read(await service.send("POST", path, body), row);
    if (answer.status === 201) return { view: readRowOf(rows, resource, answer.body), now: true };
    none &&= answer.status >= 400 && answer.status < 500;
    const broke = forbidden(link, `POST ${path}`, answer);
    if (broke !== null) return { reason: answer.fault, none, broke };
    if (!mayPass(answer)) return { reason: answer.fault, none };
    const view = await readReported(link, resource, String(row.uuid));
    if (view !== null)
      return { view, now: !none && (resource === "port" || view.row.provision_state === "enroll") };
    const reason = await refusalOf(link, resource, row, answer);
    if (reason !== null || tries === TRIES) return { reason: reason ?? answer.fault, none };
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
export function stopIfForbidden(link: Link, what: string, answer: Answer): void {
  const broke = forbidden(link, what, answer);
  if (broke !== null) throw broke;
}

function forbidden({ service }: Link, what: string, answer: Answer): MigrationError | null {
  const isForbidden = answer.status === 403 || answer.status === 406;
  return isForbidden ? refusedCall(service.session, what, answer) : null;
}
