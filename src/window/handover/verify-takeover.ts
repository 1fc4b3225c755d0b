import { logFaults } from "../../lib/quotes.ts";
import { checkIdentity } from "../../migrate/apply/ironic-target.ts";
import { nothingLoads } from "../../migrate/plan/empty-plan.ts";
import {
  acceptLogs,
  keepVerified,
  openToVerify,
  type VerifyRequest,
} from "../../migrate/verify/verify.ts";
import type { Release } from "../../model/ironic/target.ts";
import { closing, openRole } from "../../run/databases.ts";
import { listFaults, logsAt } from "../../run/service-logs.ts";
import type { Sink } from "../../run/sink.ts";
import type { Database } from "../../systems/database/open.ts";
import { fieldNames } from "../../systems/ironic-db/field-names.ts";
import { createHandover } from "../../systems/ironic-db/handover.ts";
import { identifyTarget } from "../../systems/ironic-db/open.ts";
import { plannedNodes } from "./hand-over.ts";
import {
  isHandedOver,
  type MissingFields,
  missingKeys,
  noStates,
  observe,
  observedOf,
} from "./rules/observe.ts";

export interface TakeoverRequest
  extends Pick<VerifyRequest, "run" | "keyFile" | "ironicDb" | "allRows"> {
  /** Logs of conductors: `FILE`, or `FILE:LINE` to start there. */
  readonly conductorLog?: readonly string[];
}

/**
 * Checks each machine's hand-over once, with missing fields and errors in the conductors' logs.
 * Needs the database, because REST shows only the expected conductor. `accept` records that the
 * operator accepted the errors in the logs.
 * @throws MigrationError N2I-E105, N2I-E326 if there is no machine to check
 */
export async function verifyTakeover(request: TakeoverRequest, sink: Sink) {
  const opened = await openToVerify(request);
  const { plan, mappings } = opened;
  const { ironicDb, conductorLog = [] } = request;
  const logs = await logsAt(conductorLog);
  return closing(async (keep) => {
    const database = keep(await openRole("ironic-db", ironicDb, { readOnly: true }));
    const { target } = plan.header;
    const { identity, release } = await identifyTarget(database, mappings, target.release);
    checkIdentity(target, identity);
    const states = noStates();
    const nodes = plannedNodes(plan.lines(), () => true);
    const handover = createHandover(database, release);
    const missingFields = missingFieldsIn(database, release);
    await sink.list("states", observe(nodes, handover, states, request.allRows, missingFields));
    if (observedOf(states) === 0) throw nothingLoads(plan.footer.footer);
    const faults =
      logs.length === 0 ? 0 : await listFaults(logs, (lines, from) => logFaults(lines(from)), sink);
    const equal = isHandedOver(states) && faults === 0;
    await keepVerified(opened, { takeover: equal }, sink);
    const accept = (logged: string): Promise<void> => acceptLogs(opened, "takeover", logged, sink);
    return { states, logs: logs.length, faults, accept };
  });
}

function missingFieldsIn(database: Database, release: Release): MissingFields {
  return async (batch) => {
    const uuids = batch.map(({ uuid }) => uuid);
    const filled = await fieldNames(database, release, uuids);
    return new Map(
      batch.map(({ uuid, row, root }) => [
        uuid,
        missingKeys(release.doc, row, root ?? null, filled.get(uuid) ?? new Set()),
      ]),
    );
  };
}
