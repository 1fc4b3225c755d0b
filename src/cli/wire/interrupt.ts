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
    process.stderr.write(
      "\nStopping after this batch; once more stops at once. Both can be resumed with the same command.\n",
    );
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
