import { statusOfChecks } from "../../core/check/checks.ts";
import type { Served } from "../../edge/http/serving.ts";
import { checksJson, checksTable, checksTotal } from "../../report/checks.ts";
import { checkProxy } from "../../stages/proxy-check.ts";
import { serveProxy } from "../../stages/serve-proxy.ts";
import { io } from "../io.ts";
import type { ServeArgs } from "../options/serve.ts";
import { createEvents } from "../print/events.ts";
import { exitWith, note, painted } from "./shared.ts";

const TITLE = "Proxy Check Results";

export async function serveCommand(args: ServeArgs): Promise<void> {
  if (args.check) return checkCommand(args);
  await serveProxy(args, {
    say: (text) => note(args, text),
    served: requestLines(args),
  });
}

async function checkCommand(args: ServeArgs): Promise<void> {
  const rows = await checkProxy(args);
  const table = checksTable(rows, true, TITLE);
  if (args.json) io().stdout.write(checksJson(rows, TITLE));
  else io().stdout.write(`${painted(table)}${checksTotal(rows, false)}\n`);
  exitWith(statusOfChecks(rows));
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
