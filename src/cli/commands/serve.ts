import { MigrationError } from "../../lib/error.ts";
import { serveManageable } from "../../manage/serve-manageable.ts";
import { serveProxy } from "../../proxy/serve-proxy.ts";
import type { Served } from "../../serving/serving.ts";
import { type ServeSwitchAsked, serveSwitchover } from "../../switchover/serve-switchover.ts";
import { io } from "../io.ts";
import { OF_SERVICE, type ServeArgs } from "../options/serve.ts";
import { createEvents } from "../print/events.ts";
import { notOption } from "./said.ts";
import { note } from "./shared.ts";

export async function serveCommand(args: ServeArgs): Promise<void> {
  for (const [service, own] of Object.entries(OF_SERVICE))
    if (service !== args.service) for (const name of own) notOption(`serve ${args.service}`, name);
  if (args.service === "manageable") return manageableCommand(args);
  if (args.service === "switchover") return switchoverCommand(args as ServeSwitchArgs);
  const asked = { ...args, listen: args.listen ?? "127.0.0.1:8785" };
  await serveProxy(asked, {
    say: (text) => note(args, text),
    served: requestLines(args),
  });
}

type ServeSwitchArgs = ServeArgs &
  Omit<ServeSwitchAsked, "listen" | "state"> & {
    readonly state?: string;
  };

/** @throws MigrationError N2I-E100 */
async function switchoverCommand(args: ServeSwitchArgs): Promise<void> {
  const { state, run, listen = "127.0.0.1:6386" } = args;
  if (run !== undefined)
    throw new MigrationError("N2I-E100", "serve switchover has no option --run");
  if (state === undefined)
    throw new MigrationError(
      "N2I-E100",
      "serve switchover wants --state: what is accepted is written down there",
    );
  const asked = { ...args, listen, state };
  await serveSwitchover(asked, { say: (text) => note(args, text), served: requestLines(args) });
}

async function manageableCommand(args: ServeArgs): Promise<void> {
  const emit = createEvents(io().stderr, Date.now);
  await serveManageable(
    { ...args, listen: args.listen ?? "127.0.0.1:6388" },
    {
      say: (text) => note(args, text),
      served: requestLines(args),
      notify(event) {
        if (args.json) emit("item", { ...event });
      },
    },
  );
}

/** A line for each request; it goes to no file, whatever run was named. */
function requestLines({ quiet, json }: ServeArgs): (request: Served) => void {
  // Of this command, whoever's connection it is that a request came on.
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
