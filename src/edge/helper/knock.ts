import { createConnection, isIPv6 } from "node:net";
import type { HelperAnswer } from "../../model/check.ts";
import { MigrationError } from "../../model/error.ts";

/** Where nova-baremetal-deploy-helper listens. @source facts/nova-bm.md 3.5 */
const PORT = 10_000;
/** Milliseconds; a host of the same site answers in a few. */
const PATIENCE = 3000;
/** Connections at once. */
const AT_ONCE = 64;

/**
 * Opens a connection to each helper's port and closes it; nothing is sent.
 *
 * @param hosts `HOST`, `HOST:PORT` or `[ADDRESS]:PORT`
 * @throws MigrationError N2I-E100 for a malformed one
 */
export async function knockAll(hosts: readonly string[]): Promise<readonly HelperAnswer[]> {
  const places = hosts.map(placeOf);
  const answers: HelperAnswer[] = [];
  for (let at = 0; at < places.length; at += AT_ONCE)
    answers.push(...(await Promise.all(places.slice(at, at + AT_ONCE).map(knock))));
  return answers;
}

interface Place {
  readonly host: string;
  readonly port: number;
}

function placeOf(word: string): Place {
  if (isIPv6(word)) return { host: word, port: PORT };
  const [, bracketed, plain, digits] =
    /^(?:\[([^\]]+)\]|([^:\s]+))(?::(\d{1,5}))?$/.exec(word) ?? [];
  const [host, port] = [bracketed ?? plain ?? "", Number(digits ?? PORT)];
  if (host === "" || port < 1 || port > 65_535)
    throw new MigrationError("N2I-E100", `--helper-host ${JSON.stringify(word)} is no HOST[:PORT]`);
  return { host, port };
}

function knock({ host, port }: Place): Promise<HelperAnswer> {
  const at = `${isIPv6(host) ? `[${host}]` : host}:${port}`;
  return new Promise((resolve) => {
    const socket = createConnection({ host, port });
    const end = (answer: HelperAnswer["answer"], why = ""): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve({ at, answer, why });
    };
    // A name that is looked up is no traffic, so the socket's own timeout would not end it.
    const timer = setTimeout(() => end("unreachable", "did not answer"), PATIENCE);
    socket.once("connect", () => end("open"));
    socket.once("error", (error: NodeJS.ErrnoException) =>
      error.code === "ECONNREFUSED" ? end("refused") : end("unreachable", error.code ?? "failed"),
    );
  });
}
