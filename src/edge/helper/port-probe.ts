import { createConnection, isIPv6 } from "node:net";
import type { HelperAnswer } from "../../model/check.ts";

/** Where nova-baremetal-deploy-helper listens. @source facts/nova-bm.md 3.5 */
const PORT = 10_000;
/** Milliseconds; a host of the same site answers in a few. */
const PATIENCE = 3000;
/** Connections at once. */
const AT_ONCE = 64;

/**
 * Opens a connection to each helper's port and closes it; nothing is sent.
 *
 * @param hosts `HOST`, `HOST:PORT` or `[ADDRESS]:PORT`; anything else is reported as out of reach
 */
export async function probeAll(hosts: readonly string[]): Promise<readonly HelperAnswer[]> {
  const words = [...new Set(hosts)];
  const answers: HelperAnswer[] = [];
  for (let at = 0; at < words.length; at += AT_ONCE)
    answers.push(...(await Promise.all(words.slice(at, at + AT_ONCE).map(probeWord))));
  return answers;
}

async function probeWord(word: string): Promise<HelperAnswer> {
  const place = placeOf(word);
  if (place !== null) return probe(place);
  return { at: JSON.stringify(word), answer: "unreachable", why: "is no HOST[:PORT]" };
}

interface Place {
  readonly host: string;
  readonly port: number;
}

function placeOf(word: string): Place | null {
  if (isIPv6(word)) return { host: word, port: PORT };
  const [, bracketed, plain, digits] =
    /^(?:\[([^\]]+)\]|([^:\s]+))(?::(\d{1,5}))?$/.exec(word) ?? [];
  const [host, port] = [bracketed ?? plain ?? "", Number(digits ?? PORT)];
  return host === "" || port < 1 || port > 65_535 ? null : { host, port };
}

function probe({ host, port }: Place): Promise<HelperAnswer> {
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
