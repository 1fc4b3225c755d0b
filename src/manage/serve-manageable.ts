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
  readonly say: (text: string) => void;
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
export function serveManageable(asked: ManageableOptions, told: ManageableReport): Promise<void> {
  return inRun(asked.run, "node manage", { kind: "manage", create: true }, (run) =>
    closing(async (keep) => {
      checkLoopback(asked);
      const policy = openPolicy(asked.policyFile, Object.values(MANAGEABLE_RULES));
      const { entries } = await readJournal(run);
      const place = await openManageClients(asked, keep, told.say, true);
      const { address } = place.service.identity;
      checkSameIronic(entries, address);
      checkAdapter(entries, "allocation");
      const service = {
        stopping:
          "Stopping: no new connections. Open requests are answered. A second signal stops the service immediately.",
        reload: () => told.say(policy.reload()),
      };
      await withSession(
        run,
        async (session) => {
          await session.begin(MANAGE, { adapter: "allocation", address });
          await listening(asked, told, place, policy, session);
        },
        { afterWindow: true, service },
      );
    }),
  );
}

async function listening(
  asked: ManageableOptions,
  told: ManageableReport,
  place: ManageClients,
  policy: ReturnType<typeof openPolicy>,
  session: RunSession,
): Promise<void> {
  const http = openHttp(place.cloud.tls, place.limit);
  const keystone =
    asked.auth === "none" ? "" : serviceUrl(asked.keystoneUrl ?? "", "--keystone-url", KEYSTONE);
  const tokens = openTokens({
    ...{ http, url: keystone, catalog: null, believed: asked.tokenCache, now: Date.now },
  });
  try {
    const parts = {
      ...{ http, keystone, place, session, adapter: adapterOf(place), notify: told.notify },
      tokens: asked.auth === "none" ? null : tokens,
      allows: (rule: keyof typeof MANAGEABLE_RULES, who: Parameters<typeof allows>[2]) =>
        allows(policy.current(), MANAGEABLE_RULES[rule], who),
    };
    const route = { path: MANAGEABLE, answer: manageableAnswer(parts) };
    const listener = await bound(asked, route, told.served);
    const { url } = place.service.session;
    told.say(`listening on ${listener.url}, Ironic ${url}, ${policy.policyText()}`);
    if (told.until !== undefined) await told.until(listener.url);
    else if (!session.stopping())
      await new Promise((resolve) => session.signal.addEventListener("abort", resolve));
    await listener.end();
  } finally {
    http.close();
  }
}

/** Null: this Ironic cannot create allocations of nodes in use. */
function adapterOf(place: ManageClients): Adapter | null {
  try {
    return allocationAdapter(allocationClient(place));
  } catch (error) {
    if (error instanceof MigrationError && error.code === "N2I-E209") return null;
    throw error;
  }
}
