import { loadIdentical } from "../migrate/open/documents.ts";
import { openManageClients } from "../migrate/open/services.ts";
import { ironicFault } from "../model/served.ts";
import { closing } from "../run/databases.ts";
import { lockRun, openRun } from "../run/files/run-folder.ts";
import { processContext } from "../run/process-context.ts";
import { bound, checkLoopback, type ProxyOptions } from "../serving/bind.ts";
import { openPolicy } from "../serving/policy-file.ts";
import { allows } from "../serving/rules/policy-allows.ts";
import type { Served } from "../serving/serving.ts";
import { openTokens } from "../serving/tokens.ts";
import { ranges } from "../serving/versions.ts";
import { checkMinor } from "../systems/ironic-api/service.ts";
import { openHttp } from "../systems/openstack/http.ts";
import { KEYSTONE } from "../systems/openstack/kinds.ts";
import { serviceUrl } from "../systems/openstack/session.ts";
import { SWITCH_RULE, SWITCHED } from "./rules/served.ts";
import type { SwitchOptions } from "./switchover.ts";
import { openSwitchNova } from "./switchover-nova.ts";
import type { SwitchClients } from "./switchover-perform.ts";
import { decide, sameInstance } from "./switchover-plan.ts";
import { openSwitchings, type SwitchingsAt } from "./switchover-queue.ts";
import { type SwitchParts, switchAnswer } from "./switchover-requests.ts";

type Common = Omit<
  SwitchOptions,
  "run" | "source" | "destination" | "dryRun" | "sourceConfirmedOff"
>;

export interface ServeSwitchOptions extends Omit<ProxyOptions, "novaCompat" | "run">, Common {
  readonly state: string;
  readonly apiTimeout: number;
}

interface ServeSwitchReport {
  readonly report: (text: string) => void;
  readonly served: (request: Served) => void;
  /** Resolves when the service ends; absent: it ends on a signal. */
  readonly until?: (url: string) => Promise<void>;
  /** Milliseconds between attempts if a service does not answer, and the number of attempts. */
  readonly pause?: number;
  readonly tries?: number;
}

const PAUSE_MS = 30_000;
/** Retries for an hour or more, because each attempt also waits for answers. */
const TRIES = 120;

const STOPPING =
  "Stopping: no new requests. Each switchover finishes its step. To resume, start the service again with the same --state.";

/**
 * Each accepted request becomes a run in --state. Unfinished runs of an earlier process are resumed
 * first.
 *
 * @throws MigrationError N2I-E100, N2I-E106, N2I-E109, N2I-E110, N2I-E112, N2I-E113, N2I-E116 to
 * N2I-E118, N2I-E302
 */
export function serveSwitchover(
  options: ServeSwitchOptions,
  output: ServeSwitchReport,
): Promise<void> {
  return closing(async (keep) => {
    checkLoopback(options);
    const state = await openRun(options.state, { create: true });
    const release = await lockRun(state, "serve switchover");
    const policy = openPolicy(options.policyFile, [SWITCH_RULE], "Ironic's");
    const interrupt = processContext().onInterrupt({
      stopping: STOPPING,
      reload: () => output.report(policy.reload()),
    });
    try {
      const opened = await openManageClients(options, keep, output.report, true);
      checkMinor(opened.service, "switchover");
      const nova = await openSwitchNova(options, opened, keep, { readOnly: false });
      const clients = { ...opened, nova };
      await listening({ ...options, state: state.path }, output, { clients, policy, interrupt });
    } finally {
      interrupt.end();
      await release();
    }
  });
}

interface Opened {
  readonly clients: SwitchClients;
  readonly policy: ReturnType<typeof openPolicy>;
  readonly interrupt: ReturnType<ReturnType<typeof processContext>["onInterrupt"]>;
}

async function listening(
  config: ServeSwitchOptions,
  output: ServeSwitchReport,
  { clients, policy, interrupt }: Opened,
): Promise<void> {
  const { state } = config;
  const { url } = clients.service.session;
  const http = openHttp(clients.cloud.tls, clients.limit);
  const keystone =
    config.auth === "none" ? "" : serviceUrl(config.keystoneUrl ?? "", "--keystone-url", KEYSTONE);
  const tokens = openTokens({
    ...{ http, url: keystone, catalog: null, believed: config.tokenCache, now: Date.now },
  });
  let isEnding = false;
  const stopping = (): boolean => isEnding || interrupt.stopping();
  try {
    const doc = await loadIdentical(config.identical);
    const common = { http, keystone, clients, doc, state, stopping, ranges: ranges(http) };
    const switchings = await openSwitchings(workOf(config, output, common));
    const parts: SwitchParts = {
      ...{ ...common, switchings, report: output.report },
      common: config,
      tokens: config.auth === "none" ? null : tokens,
      allows: (who) => allows(policy.current(), SWITCH_RULE, who),
    };
    try {
      const route = { path: SWITCHED, answer: switchAnswer(parts) };
      const listener = await bound(config, route, output.served, ironicFault);
      output.report(`listening on ${listener.url}, Ironic ${url}, ${policy.policyText()}`);
      if (output.until !== undefined) await output.until(listener.url);
      else if (!stopping())
        await new Promise((resolve) => interrupt.signal.addEventListener("abort", resolve));
      isEnding = true;
      await listener.end();
    } finally {
      isEnding = true;
      await switchings.ended();
    }
  } finally {
    http.close();
  }
}

function workOf(
  options: ServeSwitchOptions,
  { report, pause = PAUSE_MS, tries = TRIES }: ServeSwitchReport,
  { clients, doc, state, stopping }: Pick<SwitchParts, "clients" | "doc" | "state" | "stopping">,
): SwitchingsAt {
  return {
    ...{ state, clients, options, report, stopping, pause, tries },
    /** Uses the service's login, because the caller's token may have expired. */
    async again({ plan: { source, instance_uuid, leave_nova, picked }, id, target }) {
      const again = { source, destination: target, leaveNova: leave_nova, nova: clients.nova };
      const { plan } = await decide(clients.service, doc, again);
      return { ...sameInstance(plan, instance_uuid), id, picked };
    },
  };
}
