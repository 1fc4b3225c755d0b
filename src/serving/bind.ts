import { MigrationError } from "../lib/error.ts";
import { faultReply } from "../model/served.ts";
import type { Interrupt } from "../run/process-context.ts";
import { listen } from "./listener.ts";
import type { Served, ServedRoute } from "./serving.ts";

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

/** Resolves on a signal. */
export async function untilStopped(by: Pick<Interrupt, "stopping" | "signal">): Promise<void> {
  if (!by.stopping()) await new Promise((resolve) => by.signal.addEventListener("abort", resolve));
}

/** @param fault formats the listener's own errors */
export function bound(
  options: ServeOptions,
  route: ServedRoute,
  served: (request: Served) => void,
  fault = faultReply,
) {
  const { tlsCert: cert, tlsKey: key, maxConnections } = options;
  return listen({
    ...hostAndPort(options.listen),
    tls: cert === undefined || key === undefined ? null : { cert, key },
    maxConnections,
    routes: [route],
    ...{ fault, served },
  });
}
