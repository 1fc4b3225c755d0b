import { orNull } from "../lib/error.ts";
import { openManageClients } from "../migrate/open/services.ts";
import { MANAGE } from "../model/ironic/manage.ts";
import type { RestOptions } from "../run/cloud.ts";
import { closing } from "../run/databases.ts";
import { readJournal } from "../run/files/journal.ts";
import { inRun } from "../run/run.ts";
import { withSession } from "../run/session.ts";
import { openCallers } from "../serving/caller.ts";
import { openPolicy } from "../serving/policy-file.ts";
import {
  checkLoopback,
  type ServeOptions,
  type ServeReport,
  serveUntilStopped,
  signalsOf,
} from "../serving/serve.ts";
import { openHttp } from "../systems/openstack/http.ts";
import { allocationAdapter, checkAdapter, checkSameIronic } from "./manage-adapter.ts";
import type { Notify } from "./manage-perform.ts";
import { manageableAnswer } from "./manageable-requests.ts";
import { MANAGEABLE, MANAGEABLE_RULES } from "./rules/served.ts";

interface ManageableOptions extends ServeOptions, RestOptions {
  readonly run: string;
}

interface ManageableReport extends ServeReport {
  readonly notify: Notify;
}

/**
 * Serves the list of running machines and creates their records. Reads use the caller's token.
 * Writes use the service's login and are in the run's journal.
 *
 * @throws MigrationError N2I-E100, N2I-E106, N2I-E109, N2I-E110, N2I-E116 to N2I-E118, N2I-E315
 */
export function serveManageable(options: ManageableOptions, sink: ManageableReport): Promise<void> {
  return inRun(options.run, "node manage", { kind: "manage", create: true }, (run) =>
    closing(async (keep) => {
      checkLoopback(options);
      const policy = openPolicy(options.policyFile, Object.values(MANAGEABLE_RULES));
      const { entries } = await readJournal(run);
      const clients = await openManageClients(options, keep, sink.report, true);
      const { address } = clients.service.identity;
      checkSameIronic(entries, address);
      checkAdapter(entries, "allocation");
      await withSession(
        run,
        async (session) => {
          await session.begin(MANAGE, { adapter: "allocation", address });
          // Null: this Ironic cannot create allocations of nodes in use.
          const adapter = await orNull(
            Promise.resolve(clients).then(allocationAdapter),
            "N2I-E209",
          );
          const http = openHttp(clients.cloud.tls, clients.limit);
          const callers = openCallers(http, options);
          const { allows } = policy;
          const parts = { clients, session, adapter, allows };
          await serveUntilStopped(options, sink, session, http, {
            ...{ path: MANAGEABLE, answer: manageableAnswer(parts, callers, sink.notify), policy },
            upstream: () => `Ironic ${clients.service.session.url}`,
          });
        },
        { afterWindow: true, service: signalsOf(policy, sink) },
      );
    }),
  );
}
