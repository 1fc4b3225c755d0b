import { writeSync } from "node:fs";
import { parentPort } from "node:worker_threads";

/** A file that a process has begun, and the seconds after which the process is ended. */
export interface StartedChange {
  readonly file: string;
  readonly seconds: number;
}

let timer: NodeJS.Timeout | undefined;

// This is a thread of its own: a test that never returns to the event loop stops every timer of the main one.
parentPort?.on("message", ({ file, seconds }: StartedChange) => {
  clearTimeout(timer);
  timer = setTimeout(() => {
    writeSync(2, `${file} blocked its process for ${seconds} s\n`);
    process.kill(process.pid, "SIGKILL");
  }, seconds * 1000);
});
