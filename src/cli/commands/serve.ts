import { serveManageable } from "../../manage/serve-manageable.ts";
import { type ProxyOptions, serveProxy } from "../../proxy/serve-proxy.ts";
import type { Served } from "../../serving/listener.ts";
import { type ServeSwitchOptions, serveSwitchover } from "../../switchover/serve-switchover.ts";
import { io } from "../io.ts";
import { createEvents } from "../print/events.ts";
import { note, type Voice } from "./shared.ts";

export const commands = {
  "serve proxy": proxyCommand,
  "serve manageable": manageableCommand,
  "serve switchover": switchoverCommand,
};

function proxyCommand(args: Voice & ProxyOptions): Promise<void> {
  return serveProxy(args, outputOf(args));
}

function switchoverCommand(args: Voice & ServeSwitchOptions): Promise<void> {
  return serveSwitchover(args, outputOf(args));
}

function manageableCommand(args: Voice & Parameters<typeof serveManageable>[0]): Promise<void> {
  const emit = createEvents(io().stderr);
  return serveManageable(args, {
    ...outputOf(args),
    notify(event) {
      if (args.json) emit("item", { ...event });
    },
  });
}

function outputOf(args: Voice) {
  return { report: (text: string) => note(args, text), served: requestLines(args) };
}

function requestLines({ quiet, json }: Voice): (request: Served) => void {
  // A request may arrive on a connection outside this command's context.
  const { stderr } = io();
  const emit = createEvents(stderr);
  return (request) => {
    if (json) return emit("item", { ...request });
    if (quiet) return;
    const { method, path, status, milliseconds, calls, id, globalId, broken } = request;
    const ids = globalId === undefined ? id : `${id} ${globalId}`;
    const more = broken === undefined ? "" : ` broken off: ${broken}`;
    stderr.write(`${method} ${path} ${status} ${milliseconds} ms ${calls} calls ${ids}${more}\n`);
  };
}
