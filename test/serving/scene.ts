import { connect } from "node:net";
import type { TestContext } from "node:test";
import { faultReply, jsonReply } from "../../src/model/served.ts";

import { LIMITS, listen, type Served, type ServedRoute } from "../../src/serving/listener.ts";
import { signal } from "../support/signal.ts";

/** A listener that says what it was asked, at /said, and is ended with the test. */
export async function listening(
  t: Pick<TestContext, "after">,
  more: Partial<Parameters<typeof listen>[0]> = {},
) {
  const served: Served[] = [];
  const listener = await listen({
    ...{ host: "127.0.0.1", port: 0, tls: null, maxConnections: 512 },
    routes: [
      {
        path: /^\/said$/,
        answer: (asked) => {
          const { method, path, body, globalId } = asked;
          asked.upstream.calls += 2;
          return Promise.resolve(jsonReply(200, { method, path, globalId, bytes: body.length }));
        },
      },
    ],
    fault: faultReply,
    served: (one) => served.push(one),
    ...more,
  });
  let ended: Promise<void> | null = null;
  const end = (): Promise<void> => {
    ended ??= listener.end();
    return ended;
  };
  t.after(end);
  return { url: listener.url, served, end };
}

export function heldRoute() {
  const held = signal();
  const slow: ServedRoute = {
    path: /^\/slow$/,
    answer: () => held.isSet.then(() => ({ status: 200, fields: {}, body: "" })),
  };
  return { slow, free: held.set };
}

export function wire(t: Pick<TestContext, "after">, url: string, bytes: string | Buffer = "") {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  let text = "";
  socket.setEncoding("latin1").on("data", (chunk: string) => {
    text += chunk;
  });
  socket.on("error", () => undefined);
  const ended = new Promise<string>((resolve) => socket.on("close", () => resolve(text)));
  t.after(() => socket.destroy());
  socket.write(bytes);
  return {
    ...{ socket, ended },
    async until(what: RegExp) {
      while (!what.test(text)) {
        if (socket.destroyed) throw new Error(`it never came: ${what}\n${text}`);
        await new Promise((resolve) => socket.once("data", resolve).once("close", resolve));
      }
      return text;
    },
  };
}

/** A request of one line, on a connection that it ends. */
export function line(method: string, path: string, ...fields: readonly string[]): string {
  const head = [`${method} ${path} HTTP/1.1`, "Host: here", "Connection: close", ...fields];
  return `${head.join("\r\n")}\r\n\r\n`;
}

export function shorter(t: Pick<TestContext, "after">, limit: keyof typeof LIMITS, value: number) {
  const usual = LIMITS[limit];
  LIMITS[limit] = value;
  t.after(() => {
    LIMITS[limit] = usual;
  });
}

/** Pieces that come as the test says. */
export function piecewise(pieces: () => AsyncIterable<string>): ServedRoute {
  return {
    path: /^\/pieces$/,
    answer: () => Promise.resolve({ status: 200, fields: {}, body: pieces() }),
  };
}
