import type { Reply, ServedRequest } from "../model/served.ts";

export interface ServedRoute {
  readonly path: RegExp;
  readonly answer: (request: ServedRequest) => Promise<Reply>;
}

/** The log entry of a request. It has no data of the caller except the path. */
export interface Served {
  readonly id: string;
  /** The caller's request id, which is passed to other services. Absent: `id` is passed. */
  readonly globalId?: string;
  readonly method: string;
  readonly path: string;
  /** 0: the caller closed the connection before the response. */
  readonly status: number;
  readonly milliseconds: number;
  readonly calls: number;
  readonly broken?: string;
}

export interface ServeReport {
  readonly report: (text: string) => void;
  readonly served: (request: Served) => void;
  /** Resolves when the service ends; absent: it ends on a signal. */
  readonly until?: (url: string) => Promise<void>;
}

export interface Serving {
  readonly host: string;
  readonly port: number;
  /** PEM files. Null: plain HTTP. */
  readonly tls: { readonly cert: string; readonly key: string } | null;
  readonly maxConnections: number;
  readonly routes: readonly ServedRoute[];
  /** Formats the listener's own errors as the service does. */
  readonly fault: (status: number, message: string) => Reply;
  readonly served: (request: Served) => void;
}

/** In bytes and milliseconds, for every service. */
export const LIMITS = {
  head: 16 * 1024,
  body: 64 * 1024,
  /** Requests per connection, including pipelined ones. */
  requests: 100,
  /** From the connection, or the previous response, to the last byte of the request. */
  arrival: 10_000,
  /** Interval of the check for slow requests. */
  checking: 500,
  /** Longer than load balancers keep an idle connection. */
  idle: 75_000,
  /** For a caller that does not read the response. */
  unread: 60_000,
  /** For open requests when the service stops. */
  ending: 30_000,
};
