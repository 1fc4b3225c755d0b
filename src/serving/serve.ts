import { MigrationError } from "../lib/error.ts";
import { faultReply } from "../model/served.ts";
import type { Interrupt, ServiceSignals } from "../run/process-context.ts";
import type { Http } from "../systems/openstack/http.ts";
import { listen, type Served, type ServedRoute } from "./listener.ts";
import type { openPolicy } from "./policy-file.ts";

export interface ServeOptions {
  readonly listen: string;
  readonly keystoneUrl?: string;
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  readonly policyFile?: string;
  /** Seconds. */
  readonly tokenCache: number;
  readonly maxConnections: number;
  readonly auth: "keystone" | "none";
}

export interface ServeReport {
  readonly report: (text: string) => void;
  readonly served: (request: Served) => void;
  /** Resolves when the service ends. Without it, a signal ends the service. */
  readonly until?: (url: string) => Promise<void>;
}

type Policy = Pick<ReturnType<typeof openPolicy>, "reload" | "policyText">;

const LOOPBACK = /^(?:127(?:\.\d{1,3}){3}|localhost|::1)$/;

function hostAndPort(address: string) {
  // An IPv6 address is in brackets.
  const [, host = "", port] = /^\[?(.*?)\]?:(\d+)$/.exec(address) ?? [];
  return { host, port: Number(port) };
}

/** @throws MigrationError N2I-E100 if other hosts can reach a service without tokens */
export function checkLoopback(options: Pick<ServeOptions, "auth" | "listen">): void {
  if (options.auth !== "none" || LOOPBACK.test(hostAndPort(options.listen).host)) return;
  throw new MigrationError("N2I-E100", "--auth none requires a loopback address in --listen", {
    fix: "Listen on 127.0.0.1 or [::1], because with --auth none, the service accepts requests without a token.",
  });
}

const STOPPING =
  "Stopping: no new connections. Open requests are answered. A second signal stops the service immediately.";

export function signalsOf(
  policy: Policy,
  { report }: Pick<ServeReport, "report">,
  stopping = STOPPING,
): ServiceSignals {
  return { stopping, reload: () => report(policy.reload()) };
}

interface ServedApi extends ServedRoute {
  readonly policy: Policy;
  /** Text about the upstream service, for the first message. */
  readonly upstream: () => string | Promise<string>;
  /** Formats the listener's own errors. */
  readonly fault?: typeof faultReply;
}

/** Serves until a signal, and answers the open requests first. @param http closed at the end */
export async function serveUntilStopped(
  options: ServeOptions,
  { report, served, until }: ServeReport,
  interrupt: Pick<Interrupt, "stopping" | "signal">,
  http: Http,
  { policy, upstream, fault = faultReply, ...route }: ServedApi,
): Promise<void> {
  const { tlsCert: cert, tlsKey: key, maxConnections } = options;
  const { signal } = interrupt;
  try {
    const listener = await listen({
      ...hostAndPort(options.listen),
      tls: cert === undefined || key === undefined ? null : { cert, key },
      ...{ maxConnections, routes: [route], fault, served },
    });
    report(`listening on ${listener.url}, ${await upstream()}, ${policy.policyText()}`);
    if (until !== undefined) await until(listener.url);
    else if (!interrupt.stopping())
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
    await listener.end();
  } finally {
    http.close();
  }
}
