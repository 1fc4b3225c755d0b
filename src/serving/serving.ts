import type { AskedFor, Reply } from "../model/served.ts";

/** Where one service answers. */
export interface ServedRoute {
  readonly path: RegExp;
  readonly answer: (asked: AskedFor) => Promise<Reply>;
}

/** What became of a request, for the log: nothing of what came with it but its path. */
export interface Served {
  readonly id: string;
  /** The caller's own name for it, which other services are told; absent: they are told `id`. */
  readonly globalId?: string;
  readonly method: string;
  readonly path: string;
  /** 0: the caller was gone before there was one. */
  readonly status: number;
  readonly milliseconds: number;
  /** Calls to other services. */
  readonly calls: number;
  /** Why the answer is not whole; absent: it is. */
  readonly broken?: string;
}

export interface Serving {
  readonly host: string;
  readonly port: number;
  /** Paths of a certificate and its key (PEM); null: plain HTTP. */
  readonly tls: { readonly cert: string; readonly key: string } | null;
  readonly maxConnections: number;
  readonly routes: readonly ServedRoute[];
  /** Makes an error of the listener's own look as the services' do. */
  readonly fault: (status: number, message: string) => Reply;
  readonly served: (request: Served) => void;
}

/** Of every service alike; bytes and milliseconds. */
export const LIMITS = {
  head: 16 * 1024,
  body: 64 * 1024,
  /** Requests on one connection, also those that a client sends without waiting for an answer. */
  requests: 100,
  /** From a connection, or the end of an answer, to the last byte of a request. */
  arrival: 10_000,
  /** From one look for requests that arrive too slowly to the next. */
  checking: 500,
  /** Longer than balancers keep a connection that they mean to use again. */
  idle: 75_000,
  /** A caller who reads nothing of an answer. */
  unread: 60_000,
  /** What is under way when it is to end. */
  ending: 30_000,
};
