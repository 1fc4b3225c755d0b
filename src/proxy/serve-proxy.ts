import { MigrationError } from "../lib/error.ts";
import { processContext } from "../run/process-context.ts";
import { openPlan, PLAN } from "../run/run.ts";
import { bound, checkLoopback, type ServeOptions, untilStopped } from "../serving/bind.ts";
import { openCallers } from "../serving/caller.ts";
import { openPolicy } from "../serving/policy-file.ts";
import type { ServeReport } from "../serving/serving.ts";
import { ranges } from "../serving/versions.ts";
import { openHttp } from "../systems/openstack/http.ts";
import { BAREMETAL } from "../systems/openstack/kinds.ts";
import { serviceUrl } from "../systems/openstack/session.ts";
import { type ProxyParts, proxyAnswer } from "./proxy-requests.ts";
import { MOUNT } from "./rules/decide.ts";
import { REQUESTED } from "./rules/policy.ts";

export interface ProxyOptions extends ServeOptions {
  readonly ironicUrl?: string;
  readonly fromCatalog: boolean;
  readonly interface: "public" | "internal" | "admin";
  readonly region?: string;
  readonly osCacert?: string;
  /** Seconds. */
  readonly apiTimeout: number;
  readonly novaCompat: boolean;
  readonly run?: string;
}

/**
 * Serves os-baremetal-nodes until a signal stops it. Open requests are answered first.
 *
 * @throws MigrationError N2I-E100, N2I-E109, N2I-E110, N2I-E116 to N2I-E118
 */
export async function serveProxy(options: ProxyOptions, output: ServeReport): Promise<void> {
  let reload: () => void = () => undefined;
  const interrupt = processContext().onInterrupt({
    stopping:
      "Stopping: no new connections. Open requests are answered. A second signal stops the service immediately.",
    reload: () => reload(),
  });
  try {
    const served = await openProxy(options, output, interrupt.signal);
    reload = served.reload;
    await untilStopped(interrupt);
    await served.end();
  } finally {
    interrupt.end();
  }
}

/** @param stop ends the wait for Ironic's versions @throws MigrationError as `serveProxy` */
export async function openProxy(
  options: ProxyOptions,
  output: ServeReport,
  stop: AbortSignal = new AbortController().signal,
) {
  const opened = await openParts(options);
  const { proxy, http, policy } = opened;
  try {
    const route = { path: MOUNT, answer: proxyAnswer(proxy) };
    const listener = await bound(options, route, output.served);
    for (const name of ignored())
      output.report(
        `${name} is ignored: the proxy has no credentials and sends each caller's token to Ironic.`,
      );
    const ironic = await Promise.race([ironicVersionText(proxy), stopped(stop)]);
    output.report(`listening on ${listener.url}, ${ironic}, ${policy.policyText()}`);
    return {
      url: listener.url,
      /** Reads the policy file again. If it is invalid, the current rules stay in force. */
      reload: () => output.report(policy.reload()),
      async end(): Promise<void> {
        await listener.end();
        http.close();
      },
    };
  } catch (error) {
    http.close();
    throw error;
  }
}

async function openParts(options: ProxyOptions) {
  checkLoopback(options);
  const { ironicUrl, fromCatalog, interface: face, region } = options;
  const policy = openPolicy(options.policyFile, Object.values(REQUESTED));
  const numbers =
    options.run === undefined ? new Map<number, string>() : await numbersOf(options.run);
  const ironic = ironicUrl === undefined ? null : serviceUrl(ironicUrl, "--ironic-url", BAREMETAL);
  const tls = { cacert: options.osCacert ?? null, cert: null, key: null, insecure: false };
  const http = openHttp(tls, options.apiTimeout * 1000);
  const catalog = fromCatalog
    ? { interface: face, region: region ?? null, types: BAREMETAL.types }
    : null;
  const callers = openCallers(http, options, catalog);
  const proxy: ProxyParts = {
    ...{ ...callers, http, ironic, ranges: ranges(http) },
    rules: () => ({
      allows: (rule, who) => policy.allows(REQUESTED[rule], who),
      novaCompat: options.novaCompat,
      scoped: callers.tokens !== null,
      numbers,
    }),
  };
  return { proxy, http, policy };
}

/** bm_nodes.id -> uuid, from the plan of the run. */
async function numbersOf(run: string): Promise<ReadonlyMap<number, string>> {
  const numbers = new Map<number, string>();
  for await (const batch of (await openPlan(`${run}/${PLAN}`)).lines())
    for (const { bm_node_id, uuid } of batch) if (uuid !== null) numbers.set(bm_node_id, uuid);
  return numbers;
}

/** Names of variables with a secret that the operator may expect to be used. */
function ignored(): readonly string[] {
  // Only names are read, never the values.
  return Object.keys(processContext().env).filter((name) =>
    /^OS_(?:\w*PASSWORD|\w*SECRET|\w*TOKEN)$/.test(name),
  );
}

/** Ironic may not answer before the timeout of a call. */
function stopped(stop: AbortSignal): Promise<string> {
  const message = "Ironic, whose versions were not read";
  return new Promise((resolve) => {
    if (stop.aborted) resolve(message);
    stop.addEventListener("abort", () => resolve(message), { once: true });
  });
}

/** Ironic may start later, so a failure here is only reported. */
async function ironicVersionText({ ironic, ranges: versions }: ProxyParts): Promise<string> {
  if (ironic === null) return "Ironic from the catalog of each token";
  try {
    const range = await versions.of(ironic);
    return `Ironic ${ironic} ${range === null ? "of Juno" : `1.${range.least}-1.${range.most}`}`;
  } catch (error) {
    if (!(error instanceof MigrationError)) throw error;
    return `Ironic ${ironic} (not now: ${error.message})`;
  }
}
