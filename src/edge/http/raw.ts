import { randomUUID } from "node:crypto";
import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import type { Serving } from "./serving.ts";

/** Time for the other side to read an answer before its connection is gone. */
const LINGER_MS = 1000;

const refused = new WeakSet<Socket>();

/** Whether a connection has had its last answer: what it asks for besides has none. */
export function isRefused(socket: Socket): boolean {
  return refused.has(socket);
}

/**
 * Answers on a connection that is no longer read as HTTP, and ends it.
 *
 * @param what null: nobody reads it, or would take it for something else
 */
export function refuseRaw(
  socket: Socket,
  what: readonly [status: number, message: string] | null,
  { fault, served }: Pick<Serving, "fault" | "served">,
): void {
  if (refused.has(socket)) return;
  refused.add(socket);
  socket.on("error", () => undefined);
  if (what === null || !socket.writable) return void socket.destroy();
  const { status, fields, body } = fault(...what);
  // Of what it asked for nothing is known.
  const id = `req-${randomUUID()}`;
  served({ id, method: "-", path: "-", status, milliseconds: 0, calls: 0, broken: what[1] });
  const text = typeof body === "string" ? body : "";
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}`,
    ...Object.entries(fields).map(([name, value]) => `${name}: ${String(value)}`),
    `X-Openstack-Request-Id: ${id}`,
    `Content-Length: ${Buffer.byteLength(text)}`,
    "Connection: close",
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${text}`);
  // Whatever it still sends is thrown away: a reset would take the answer with it.
  socket.resume();
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}
