import { MigrationError } from "../lib/error.ts";
import { type ManageClients, openManageClients } from "../migrate/open/services.ts";
import { MANAGE } from "../model/ironic/manage.ts";
import type { RestOptions } from "../run/cloud.ts";
import { closing } from "../run/databases.ts";
import { readJournal } from "../run/files/journal.ts";
import { inRun } from "../run/run.ts";
import { type RunSession, withSession } from "../run/session.ts";
import { bound, checkLoopback, type ServeOptions, untilStopped } from "../serving/bind.ts";
import { openCallers } from "../serving/caller.ts";
import { openPolicy } from "../serving/policy-file.ts";
import type { ServeReport } from "../serving/serving.ts";
import { openHttp } from "../systems/openstack/http.ts";
import { checkSameIronic } from "./manage.ts";
import { type Adapter, allocationAdapter, checkAdapter } from "./manage-adapter.ts";
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
      const service = {
        stopping:
          "Stopping: no new connections. Open requests are answered. A second signal stops the service immediately.",
        reload: () => sink.report(policy.reload()),
      };
      await withSession(
        run,
        async (session) => {
          await session.begin(MANAGE, { adapter: "allocation", address });
          await listening(options, sink, clients, policy, session);
        },
        { afterWindow: true, service },
      );
    }),
  );
}

async function listening(
  config: ManageableOptions,
  sink: ManageableReport,
  clients: ManageClients,
  policy: ReturnType<typeof openPolicy>,
  session: RunSession,
): Promise<void> {
  const http = openHttp(clients.cloud.tls, clients.limit);
  try {
    const parts = {
      ...{ http, ...openCallers(http, config), clients, session, notify: sink.notify },
      ...{ adapter: adapterOf(clients), allows: policy.allows },
    };
    const route = { path: MANAGEABLE, answer: manageableAnswer(parts) };
    const listener = await bound(config, route, sink.served);
    const { url } = clients.service.session;
    sink.report(`listening on ${listener.url}, Ironic ${url}, ${policy.policyText()}`);
    await (sink.until?.(listener.url) ?? untilStopped(session));
    await listener.end();
  } finally {
    http.close();
  }
}

/** Null: this Ironic cannot create allocations of nodes in use. */
function adapterOf(clients: ManageClients): Adapter | null {
  try {
    return allocationAdapter(clients);
  } catch (error) {
    if (error instanceof MigrationError && error.code === "N2I-E209") return null;
    throw error;
  }
}
