import { connect, createServer, type Socket } from "node:net";
import type { TestContext } from "node:test";
import { portOf } from "./listening.ts";

/** What a proxy makes of bytes on their way; null: they stay with it. */
export type Change = (bytes: Buffer, to: "server" | "client") => Buffer | null;

/** A TCP proxy on loopback before 127.0.0.1:`port`; gone when the test is. */
export async function proxyTo(
  port: number,
  t: Pick<TestContext, "after">,
  change: Change = (bytes) => bytes,
) {
  const lines = new Set<Socket>();
  let broken = false;
  let silent = false;
  let lost = false;
  const server = createServer((near) => {
    if (broken) {
      near.resetAndDestroy();
      return;
    }
    const far = connect({ host: "127.0.0.1", port });
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      lines.add(one);
      const to = one === near ? "server" : "client";
      one.on("data", (bytes) => {
        const changed = silent ? null : change(bytes, to);
        if (changed !== null) other.write(changed);
      });
      one.on("end", () => lost || other.end());
      // A line that breaks is what this is for; the other half ends with it.
      one.on("error", () => other.destroy());
      one.on("close", () => {
        lines.delete(one);
        if (!lost) other.destroy();
      });
    }
  });
  const own = await portOf(t, server);
  /** Ends every connection there is, on both sides, without a word; `forGood`: new ones too. */
  const cut = ({ forGood } = { forGood: false }): void => {
    broken = forGood;
    for (const line of lines) line.resetAndDestroy();
  };
  t.after(() => cut({ forGood: true }));
  /** From now on takes everything and answers nothing, new connections too. */
  const silence = (): void => {
    silent = true;
  };
  /** The same, and neither side hears that the other has ended: as behind a firewall that lost its state. */
  const lose = (): void => {
    [silent, lost] = [true, true];
  };
  /** Lets new connections pass again. */
  const fix = (): void => {
    [broken, silent, lost] = [false, false, false];
  };
  return { port: own, cut, silence, lose, fix };
}
