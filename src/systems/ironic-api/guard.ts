import { isObject, type Json, type JsonObject } from "../../lib/json.ts";
import { counted } from "../../lib/text.ts";
import type { Guard, Guarded, Guards } from "../../model/handover.ts";
import { carriedFields, type RestDoc } from "../../model/ironic/rest.ts";
import { ACCEPTED, mayPass, pause, TRIES } from "../openstack/passing.ts";
import { refusedCall } from "../openstack/session.ts";
import { tellsOf } from "./look.ts";
import { cleaned } from "./move.ts";
import { inFlight } from "./pool.ts";
import type { RestService } from "./service.ts";

const FIELDS = [
  ...["uuid", "provision_state", "instance_uuid", "maintenance", "maintenance_reason"],
  ...["reservation", "protected", "protected_reason", "automated_clean"],
];

/**
 * Guards over the service's API, which compares nothing: each node is looked at right before its
 * call. Of what somebody writes in between only the field itself is lost.
 *
 * @param most questions at once
 */
export function createRestGuard(service: RestService, doc: RestDoc, most: number): Guard {
  const known = carriedFields(doc, "node", service.minor);
  const fields = FIELDS.filter((field) => known.has(field)).join(",");
  const inspect = async (uuid: string): Promise<Guarded | null> => {
    const body = await service.ask(`/v1/nodes/${uuid}?fields=${fields}`);
    return isObject(body) && tellsOf(body, uuid) ? guarded(body) : null;
  };
  return {
    async observe(uuids) {
      const found = await inFlight(
        uuids,
        most,
        async (uuid): Promise<readonly [string, Guarded | null]> => [uuid, await inspect(uuid)],
      );
      return new Map(found.flatMap(([uuid, node]) => (node === null ? [] : [[uuid, node]])));
    },
    async write(uuid, seen, change) {
      for (let [tries, accepted] = [0, 0]; ; tries += 1) {
        const answer = await service.tell("PATCH", `/v1/nodes/${uuid}`, patchOf(change));
        const { status } = answer;
        const isTaken = status >= 200 && status < 300;
        if (status === 403 || status === 406)
          throw refusedCall(service.session, `PATCH of node ${uuid}`, answer);
        if (!isTaken && !mayPass(answer) && status !== 404)
          return { why: `it is refused: ${answer.fault}` };
        if (status === 404 || tries === TRIES) return "again";
        if (!isTaken || accepted > 0) await pause(tries);
        const now = await inspect(uuid);
        if (now !== null && isAs(now, change)) return "done";
        if (now === null || !isAs(now, seen)) return "again";
        if (isTaken) accepted += 1;
        if (accepted === ACCEPTED)
          return { why: `the PATCH was accepted ${counted(accepted, "time")} and changed nothing` };
      }
    },
  };
}

function isAs(found: Guarded, wanted: Partial<Guards>): boolean {
  return GUARDS.every((field) => wanted[field] === undefined || wanted[field] === found[field]);
}

const GUARDS = ["protected", "protected_reason", "automated_clean"] as const;

/** The reason goes with protection by itself, and may not be written without it. */
function patchOf(change: Partial<Guards>): readonly Json[] {
  const { protected: guards, protected_reason, automated_clean } = change;
  return [
    ...(guards === undefined ? [] : [{ op: "replace", path: "/protected", value: guards }]),
    ...(guards === true && protected_reason !== null && protected_reason !== undefined
      ? [{ op: "add", path: "/protected_reason", value: protected_reason }]
      : []),
    ...(automated_clean === undefined ? [] : [cleaned({ automated_clean })]),
  ];
}

function guarded(row: JsonObject): Guarded {
  const word = (field: string): string | null => {
    const value = row[field];
    return typeof value === "string" && value !== "" ? value : null;
  };
  const { automated_clean } = row;
  return {
    provision_state: word("provision_state"),
    instance_uuid: word("instance_uuid"),
    maintenance: row.maintenance === true,
    maintenance_reason: word("maintenance_reason"),
    reservation: word("reservation"),
    taken: null,
    protected: row.protected === true,
    protected_reason: word("protected_reason"),
    automated_clean: typeof automated_clean === "boolean" ? automated_clean : null,
  };
}
