const PRINT = new URL("../../../src/cli/print/", import.meta.url).href;

/** A program of two stages; the second fails when asked to. */
const PROGRAM = `
  import { ioOf } from "${PRINT}../io.js";
  import { runStages } from "${PRINT}stages.js";
  ioOf(process);
  const fails = process.env.FAILS === "yes";
  const stages = [
    { title: "extract", run: async (report) => { report("rack1\\x1b[5m"); } },
    { title: "plan", run: async () => { if (fails) throw new RangeError("no"); } },
    { title: "apply", run: async () => {} },
  ];
  await runStages(stages, { tty: process.stderr.isTTY === true, clock: () => 0 })
    .then(() => process.stdout.write("result\\n"))
    .catch((error) => process.stdout.write(error.name + " " + error.message + "\\n"));`;

/** Runs the program, as words of a command line. */
export const STAGES: readonly string[] = [process.execPath, "--input-type=module", "-e", PROGRAM];
