import type { JsonObject } from "../../lib/json.ts";
import type { Guard, Guarded, Guards } from "../../model/handover.ts";
import { carriedFields, type NodeChange, type RestDoc } from "../../model/ironic/rest.ts";
import { mayPass, pause, TRIES } from "../openstack/passing.ts";
import { isAbout, lowerCaseText } from "./body.ts";
import { stopIfForbidden } from "./create.ts";
import { acceptedWrites, nodeCalls } from "./node.ts";
import { inFlight } from "./pool.ts";
import type { RestService } from "./service.ts";

const FIELDS = [
  ...["uuid", "provision_state", "instance_uuid", "maintenance", "maintenance_reason"],
  ...["reservation", "protected", "protected_reason", "automated_clean"],
];

const PATCH = "the PATCH";

/**
 * The API has no compare-and-swap, so each node is read before its call. A concurrent write to the
 * same field is lost.
 *
 * @param most concurrent requests
 */
export function createRestGuard(service: RestService, doc: RestDoc, most: number): Guard {
  const supported = carriedFields(doc, "node", service.minor);
  const fields = FIELDS.filter((field) => supported.has(field)).join(",");
  const inspect = async (uuid: string): Promise<Guarded | null> => {
    const body = await service.ask(`/v1/nodes/${uuid}?fields=${fields}`);
    return isAbout(body, uuid) ? guarded(body) : null;
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
    async write(uuid, expected, change) {
      const accepted = acceptedWrites();
      const { method, path, body } = nodeCalls.patch(uuid, changesOf(change));
      for (let tries = 0; ; tries += 1) {
        const answer = await service.send(method, path, body);
        const { status } = answer;
        const isTaken = status >= 200 && status < 300;
        stopIfForbidden({ service }, `PATCH of node ${uuid}`, answer);
        if (!isTaken && !mayPass(answer) && status !== 404)
          return { reason: `it is refused: ${answer.fault}` };
        if (status === 404 || tries === TRIES) return "again";
        if (!isTaken || accepted.has(PATCH)) await pause(tries);
        const now = await inspect(uuid);
        if (now !== null && isAs(now, change)) return "done";
        if (now === null || !isAs(now, expected)) return "again";
        if (isTaken) accepted.add(PATCH);
        const exhausted = accepted.exhausted(PATCH);
        if (exhausted !== null) return { reason: `${exhausted} without effect` };
      }
    },
  };
}

function isAs(found: Guarded, expected: Partial<Guards>): boolean {
  return GUARDS.every((field) => expected[field] === undefined || expected[field] === found[field]);
}

const GUARDS = ["protected", "protected_reason", "automated_clean"] as const;

/** Unprotecting removes the reason, which needs protection. */
function changesOf(change: Partial<Guards>): readonly NodeChange[] {
  const { protected: guards, protected_reason: reason = null, automated_clean } = change;
  const fields: readonly NodeChange[] = [
    { op: "replace", path: ["protected"], after: guards },
    { path: ["protected_reason"], after: guards === true ? (reason ?? undefined) : undefined },
    { path: ["automated_clean"], after: automated_clean },
  ];
  return fields.filter(({ after }) => after !== undefined);
}

function guarded(row: JsonObject): Guarded {
  const textOf = (field: string): string | null => lowerCaseText(row[field]);
  const { automated_clean } = row;
  return {
    provision_state: textOf("provision_state"),
    instance_uuid: textOf("instance_uuid"),
    maintenance: row.maintenance === true,
    maintenance_reason: textOf("maintenance_reason"),
    reservation: textOf("reservation"),
    taken: null,
    protected: row.protected === true,
    protected_reason: textOf("protected_reason"),
    automated_clean: typeof automated_clean === "boolean" ? automated_clean : null,
  };
}
