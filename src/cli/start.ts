import { setFlagsFromString } from "node:v8";
import { MigrationError } from "../lib/error.ts";
import { endOnLostReader, endOnLostTerminal, endOnSignal } from "./interrupt.ts";
import { ioOf } from "./io.ts";
import { run } from "./program.ts";

/** What a command left open, a socket above all, keeps nobody waiting: milliseconds. */
const OVER = 3000;

/** What streams dies young: a heap of twice what is alive is enough, where V8 would take four times. */
const FLAG = "--heap-growing-percent=100";

/** Runs the command line of a process to its end. */
export async function start(host: NodeJS.Process): Promise<void> {
  setFlagsFromString(FLAG);
  host.umask(0o077);
  const world = ioOf(host);
  endOnSignal(host);
  endOnLostTerminal(host);
  endOnLostReader(host);
  host.exitCode = await run(world, stalled(host));
  setTimeout(() => host.exit(), OVER).unref();
}

/** Rejects when nothing is left that a command could go on by; Node would end with 13, and say nothing. */
function stalled(host: NodeJS.Process): Promise<never> {
  const never = new Promise<never>((_resolve, reject) => {
    host.once("beforeExit", () =>
      reject(
        new MigrationError(
          "N2I-E900",
          "the command is stuck: nothing that it waits for can still happen",
        ),
      ),
    );
  });
  never.catch(() => undefined); // it comes after every command that has ended, too
  return never;
}
