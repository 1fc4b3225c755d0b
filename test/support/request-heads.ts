import { connect } from "node:net";
import fc from "fast-check";

/** Pieces of requests: right, wrong, and right in the wrong place. */
const PIECES = [
  ...["GET ", "POST ", "HEAD ", "DELETE ", "OPTIONS ", "CONNECT ", "NONSENSE ", " ", "\t", "\0"],
  ...[" HTTP/1.1", " HTTP/1.0", " HTTP/9.9", "\r\n", "\r\n\r\n", "\n", "\r", "\u00ff"],
  "Host: a\r\n",
  ...["X-Auth-Token: admin\r\n", "X-Auth-Token:", "X-Openstack-Request-Id: req-x\r\n"],
  ...["OpenStack-API-Version: compute 2.36\r\n", "X-OpenStack-Nova-API-Version: latest\r\n"],
  ...["Transfer-Encoding: chunked\r\n", "Transfer-Encoding: chunked, identity\r\n"],
  ...["Content-Length: 3\r\n", "Content-Length: -1\r\n", "Content-Length: 99999999999\r\n"],
  ...["Expect: 100-continue\r\n", "Connection: upgrade\r\n", "Connection: close\r\n", "{}"],
  ...["0\r\n\r\n", "ffffffffffffffff\r\n", "GET / HTTP/1.1\r\nHost: a\r\n\r\n"],
] as const;

const FIELDS = PIECES.filter((one) => one.endsWith("\r\n"));
const USUAL = ["Host: a\r\n", "X-Auth-Token: admin\r\n", "Connection: close\r\n"];

const PARTS = [
  ...["..", "%2e%2e", "%2f", "%00", "%zz", "detail", "action", "1", "", "*", "a".repeat(300)],
  ...["http://other", "//", "?", "#", "a=b&".repeat(50), "\u00e9"],
] as const;

/** Heads of requests, or what is nearly so: most have the form of one. @param paths that are served */
export function requestHeads(paths: readonly string[]): fc.Arbitrary<Buffer> {
  const served = fc.constantFrom(...paths);
  const parts = fc.array(fc.oneof(fc.constantFrom(...PARTS), fc.string()), { maxLength: 3 });
  const path = fc.oneof(
    served,
    fc.tuple(served, parts).map(([base, more]) => [base, ...more].join("/")),
  );
  const piece = fc.oneof(fc.constantFrom(...PIECES), path, fc.string());
  const pieces = fc.array(piece, { maxLength: 12 }).map((all) => all.join(""));
  const formed = fc
    .tuple(
      fc.constantFrom("GET", "GET", "HEAD", "POST", "DELETE", "PUT", "PATCH", "OPTIONS"),
      path,
      fc.oneof(fc.constant([]), fc.array(fc.constantFrom(...FIELDS), { maxLength: 3 })),
      fc.oneof(fc.constant(""), pieces),
    )
    .map(([method, at, fields, rest]) =>
      [`${method} ${at} HTTP/1.1\r\n`, ...USUAL, ...fields, "\r\n", rest].join(""),
    );
  return fc
    .oneof({ weight: 2, arbitrary: formed }, pieces)
    .map((text) => Buffer.from(text, "latin1"));
}

/**
 * Sends it on a connection of its own.
 * @param patience turns of the event loop, where the other side runs too, that nothing comes until it gives up, as the
 * other side does who waits for more; absent: it waits until the other side ends
 * @returns all that came back
 */
export function answerTo(url: string, head: Buffer, patience = Infinity): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname);
    let [text, quiet] = ["", 0];
    socket.setEncoding("latin1").on("data", (chunk: string) => {
      text += chunk;
      quiet = 0;
    });
    const look = (): void => {
      quiet += 1;
      if (quiet > patience) socket.end();
      else if (!socket.destroyed) setImmediate(look);
    };
    if (patience < Infinity) socket.on("connect", look);
    socket.write(head);
    socket.on("error", () => undefined).on("close", () => resolve(text));
  });
}
