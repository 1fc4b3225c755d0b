import { MigrationError } from "../lib/error.ts";
import { endOnLostReader, endOnLostTerminal, endOnSignal } from "./interrupt.ts";
import { ioOf } from "./io.ts";
import { run } from "./program.ts";

/** Milliseconds after the command until the process exits, even if a socket is open. */
const OVER = 3000;

export async function start(host: NodeJS.Process): Promise<void> {
  host.umask(0o077);
  const processIo = ioOf(host);
  endOnSignal(host);
  endOnLostTerminal(host);
  endOnLostReader(host);
  host.exitCode = await run(processIo, stalled(host));
  setTimeout(() => host.exit(), OVER).unref();
}

/** Rejects when a command waits for nothing. Node would exit with 13 and no message. */
function stalled(host: NodeJS.Process): Promise<never> {
  const never = new Promise<never>((_resolve, reject) => {
    host.once("beforeExit", () =>
      reject(
        new MigrationError(
          "N2I-E900",
          "the command is stuck: it is waiting, but no operation is in progress",
        ),
      ),
    );
  });
  never.catch(() => undefined); // also rejects after each completed command
  return never;
}
