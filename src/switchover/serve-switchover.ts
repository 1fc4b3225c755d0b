import { loadIdentical } from "../migrate/open/documents.ts";
import { openManageClients } from "../migrate/open/services.ts";
import { ironicFault } from "../model/served.ts";
import { closing } from "../run/databases.ts";
import { lockRun, openRun } from "../run/files/run-folder.ts";
import { processContext } from "../run/process-context.ts";
import { bound, checkLoopback, type ServeOptions, untilStopped } from "../serving/bind.ts";
import { openCallers } from "../serving/caller.ts";
import { openPolicy } from "../serving/policy-file.ts";
import type { ServeReport } from "../serving/serving.ts";
import { ranges } from "../serving/versions.ts";
import { checkMinor } from "../systems/ironic-api/service.ts";
import { openHttp } from "../systems/openstack/http.ts";
import { SWITCH_RULE, SWITCHED } from "./rules/served.ts";
import type { SwitchOptions } from "./switchover.ts";
import { openSwitchNova } from "./switchover-nova.ts";
import type { SwitchClients } from "./switchover-perform.ts";
import { openSwitchings } from "./switchover-queue.ts";
import { type SwitchParts, switchAnswer } from "./switchover-requests.ts";

export interface ServeSwitchOptions
  extends ServeOptions,
    Omit<SwitchOptions, "run" | "source" | "destination" | "dryRun" | "sourceConfirmedOff"> {
  readonly state: string;
}

interface ServeSwitchReport extends ServeReport {
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
  const { report, pause = PAUSE_MS, tries = TRIES } = output;
  const { url } = clients.service.session;
  const http = openHttp(clients.cloud.tls, clients.limit);
  let isEnding = false;
  const stopping = (): boolean => isEnding || interrupt.stopping();
  try {
    const callers = openCallers(http, config);
    const doc = await loadIdentical(config.identical);
    const common = { clients, doc, state, stopping, report };
    const switchings = await openSwitchings({ ...common, options: config, pause, tries });
    const parts: SwitchParts = {
      ...{ ...common, ...callers, http, ranges: ranges(http), switchings },
      ...{ leaveNova: config.leaveNova, allows: (who) => policy.allows(SWITCH_RULE, who) },
    };
    try {
      const route = { path: SWITCHED, answer: switchAnswer(parts) };
      const listener = await bound(config, route, output.served, ironicFault);
      report(`listening on ${listener.url}, Ironic ${url}, ${policy.policyText()}`);
      await (output.until?.(listener.url) ?? untilStopped(interrupt));
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
