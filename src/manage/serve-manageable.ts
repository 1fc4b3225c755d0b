import { MigrationError } from "../lib/error.ts";
import { type ManageClients, openManageClients } from "../migrate/open/services.ts";
import { MANAGE } from "../model/ironic/manage.ts";
import type { RestOptions } from "../run/cloud.ts";
import { closing } from "../run/databases.ts";
import { readJournal } from "../run/files/journal.ts";
import { inRun } from "../run/run.ts";
import { type RunSession, withSession } from "../run/session.ts";
import { bound, checkLoopback, type ProxyOptions } from "../serving/bind.ts";
import { openPolicy } from "../serving/policy-file.ts";
import { allows } from "../serving/rules/policy-allows.ts";
import type { Served } from "../serving/serving.ts";
import { openTokens } from "../serving/tokens.ts";
import { openHttp } from "../systems/openstack/http.ts";
import { KEYSTONE } from "../systems/openstack/kinds.ts";
import { serviceUrl } from "../systems/openstack/session.ts";
import { checkSameIronic } from "./manage.ts";
import { type Adapter, allocationAdapter, checkAdapter } from "./manage-adapter.ts";
import type { Notify } from "./manage-perform.ts";
import { manageableAnswer } from "./manageable-requests.ts";
import { allocationClient } from "./record-client.ts";
import { MANAGEABLE, MANAGEABLE_RULES } from "./rules/served.ts";

type ManageableOptions = Omit<ProxyOptions, "novaCompat" | "run"> &
  Omit<RestOptions, "apiTimeout"> & { readonly run: string };

interface ManageableReport {
  readonly report: (text: string) => void;
  readonly served: (request: Served) => void;
  readonly notify: Notify;
  /** Resolves when the service ends; absent: it ends on a signal. */
  readonly until?: (url: string) => Promise<void>;
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
  const keystone =
    config.auth === "none" ? "" : serviceUrl(config.keystoneUrl ?? "", "--keystone-url", KEYSTONE);
  const tokens = openTokens({
    ...{ http, url: keystone, catalog: null, believed: config.tokenCache, now: Date.now },
  });
  try {
    const parts = {
      ...{ http, keystone, clients, session, adapter: adapterOf(clients), notify: sink.notify },
      tokens: config.auth === "none" ? null : tokens,
      allows: (rule: keyof typeof MANAGEABLE_RULES, who: Parameters<typeof allows>[2]) =>
        allows(policy.current(), MANAGEABLE_RULES[rule], who),
    };
    const route = { path: MANAGEABLE, answer: manageableAnswer(parts) };
    const listener = await bound(config, route, sink.served);
    const { url } = clients.service.session;
    sink.report(`listening on ${listener.url}, Ironic ${url}, ${policy.policyText()}`);
    if (sink.until !== undefined) await sink.until(listener.url);
    else if (!session.stopping())
      await new Promise((resolve) => session.signal.addEventListener("abort", resolve));
    await listener.end();
  } finally {
    http.close();
  }
}

/** Null: this Ironic cannot create allocations of nodes in use. */
function adapterOf(clients: ManageClients): Adapter | null {
  try {
    return allocationAdapter(allocationClient(clients));
  } catch (error) {
    if (error instanceof MigrationError && error.code === "N2I-E209") return null;
    throw error;
  }
}
