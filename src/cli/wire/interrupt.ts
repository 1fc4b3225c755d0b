import { createEvents } from "../print/events.ts";

/** Two databases are written to under one Ctrl-C. */
let told = false;

/** Ctrl-C once: finish the batch and stop. Twice: stop at once; the open transaction dies with the connection. */
export function onInterrupt(): { readonly stopping: () => boolean; readonly end: () => void } {
  let asked = false;
  const handle = (signal: NodeJS.Signals): void => {
    const status = signal === "SIGINT" ? 130 : 143;
    if (asked) process.exit(status);
    asked = true;
    process.exitCode = status;
    if (told) return;
    told = true;
    const text =
      "Stopping after this batch; once more stops at once. Both can be resumed with the same command.";
    if (process.argv.includes("--json")) createEvents(process.stderr, Date.now)("notice", { text });
    else process.stderr.write(`\n${text}\n`);
  };
  process.on("SIGINT", handle);
  process.on("SIGTERM", handle);
  return {
    stopping: () => asked,
    end: () => {
      process.off("SIGINT", handle);
      process.off("SIGTERM", handle);
    },
  };
}
