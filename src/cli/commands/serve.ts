import { serveManageable } from "../../manage/serve-manageable.ts";
import { serveProxy } from "../../proxy/serve-proxy.ts";
import type { ProxyOptions } from "../../serving/bind.ts";
import type { Served } from "../../serving/serving.ts";
import { type ServeSwitchOptions, serveSwitchover } from "../../switchover/serve-switchover.ts";
import { io } from "../io.ts";
import { createEvents } from "../print/events.ts";
import { note, type Voice } from "./shared.ts";

interface ServeArgs extends Voice, ProxyOptions {}

/** A service that writes uses its own login for Ironic, not the caller's. */
const SERVICE_LOGIN = { fromCatalog: false, interface: "public", novaCompat: false } as const;

export function proxyCommand(args: ServeArgs): Promise<void> {
  return serveProxy(args, outputOf(args));
}

export function switchoverCommand(args: ServeArgs & ServeSwitchOptions): Promise<void> {
  return serveSwitchover({ ...args, ...SERVICE_LOGIN }, outputOf(args));
}

export function manageableCommand(args: ServeArgs & { readonly run: string }): Promise<void> {
  const emit = createEvents(io().stderr, Date.now);
  return serveManageable(
    { ...args, ...SERVICE_LOGIN },
    {
      ...outputOf(args),
      notify(event) {
        if (args.json) emit("item", { ...event });
      },
    },
  );
}

function outputOf(args: ServeArgs) {
  return { report: (text: string) => note(args, text), served: requestLines(args) };
}

function requestLines({ quiet, json }: ServeArgs): (request: Served) => void {
  // A request may arrive on a connection outside this command's context.
  const { stderr } = io();
  const emit = createEvents(stderr, Date.now);
  return (request) => {
    if (json) return emit("item", { ...request });
    if (quiet) return;
    const { method, path, status, milliseconds, calls, id, globalId, broken } = request;
    const ids = globalId === undefined ? id : `${id} ${globalId}`;
    const more = broken === undefined ? "" : ` broken off: ${broken}`;
    stderr.write(`${method} ${path} ${status} ${milliseconds} ms ${calls} calls ${ids}${more}\n`);
  };
}
