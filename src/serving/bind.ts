import { MigrationError } from "../lib/error.ts";
import { faultReply } from "../model/served.ts";
import { type Listener, listen } from "./listener.ts";
import type { Served, ServedRoute } from "./serving.ts";

/** What `serve proxy` is told. */
export interface ProxyAsked {
  readonly listen: string;
  readonly keystoneUrl?: string;
  readonly ironicUrl?: string;
  readonly fromCatalog: boolean;
  readonly interface: "public" | "internal" | "admin";
  readonly region?: string;
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  readonly osCacert?: string;
  readonly policyFile?: string;
  readonly novaCompat: boolean;
  readonly run?: string;
  /** Seconds. */
  readonly tokenCache: number;
  readonly apiTimeout: number;
  readonly maxConnections: number;
  readonly auth: "keystone" | "none";
}

/** HOST:PORT; an IPv6 address in brackets. */
const LISTEN = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]\s]+)):(\d{1,5})$/;

const LOOPBACK = /^(?:127(?:\.\d{1,3}){3}|localhost|::1)$/;

function placeOf({ listen: place }: Pick<ProxyAsked, "listen">): {
  readonly host: string;
  readonly port: number;
} {
  const [, six, host, port] = LISTEN.exec(place) ?? [];
  if (port === undefined || Number(port) > 65_535)
    throw new MigrationError("N2I-E100", "--listen takes HOST:PORT, 127.0.0.1:8785 or [::1]:8785");
  return { host: six ?? host ?? "", port: Number(port) };
}

/** What excludes what, and what needs what. @throws MigrationError N2I-E100 */
export function checkAsked(asked: ProxyAsked): void {
  const refuse = (why: string): MigrationError => new MigrationError("N2I-E100", why);
  const { auth, keystoneUrl, ironicUrl, fromCatalog, interface: face, region } = asked;
  const { tlsCert, tlsKey } = asked;
  const { host } = placeOf(asked);
  if (auth === "none" && !LOOPBACK.test(host))
    throw refuse("--auth none asks nobody for a token: it wants a loopback --listen");
  if (auth === "none" && fromCatalog)
    throw refuse("--from-catalog and --auth none exclude each other: the catalog is in a token");
  if (auth === "keystone" && keystoneUrl === undefined)
    throw refuse("nothing says where Keystone is: --keystone-url");
  if (fromCatalog && ironicUrl !== undefined)
    throw refuse("--from-catalog and --ironic-url exclude each other");
  if (!fromCatalog && ironicUrl === undefined)
    throw refuse("nothing says where Ironic is: --ironic-url, or --from-catalog");
  if ((tlsCert === undefined) !== (tlsKey === undefined))
    throw refuse("--tls-cert and --tls-key go together");
  if (!fromCatalog && (region !== undefined || face !== "public"))
    throw refuse("--interface and --region choose an endpoint of a catalog: --from-catalog");
}

/** Listens where it was told, with this behind it. @param fault words errors of the listener's own */
export function bound(
  asked: Omit<ProxyAsked, "novaCompat">,
  route: ServedRoute,
  served: (request: Served) => void,
  fault = faultReply,
): Promise<Listener> {
  const { tlsCert: cert, tlsKey: key, maxConnections } = asked;
  return listen({
    ...placeOf(asked),
    tls: cert === undefined || key === undefined ? null : { cert, key },
    maxConnections,
    routes: [route],
    ...{ fault, served },
  });
}
