import { lockRun } from "../../../src/run/files/run-folder.ts";

/** Takes the lock of the run named and keeps it until killed. */
await lockRun({ path: process.argv[2] ?? "" }, "apply");
process.stdout.write("held\n");
setInterval(() => undefined, 1000);
