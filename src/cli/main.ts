#!/usr/bin/env node
import { setFlagsFromString } from "node:v8";
import { processIo } from "./io.ts";
import { endOnBrokenPipe } from "./print/out.ts";
import { run } from "./program.ts";
import { endOnSignal } from "./wire/interrupt.ts";

/** What a command left open, a socket above all, keeps nobody waiting: milliseconds. */
const OVER = 3000;

// What streams dies young: a heap of twice what is alive is enough, where V8 would take four times.
setFlagsFromString("--heap-growing-percent=100");
process.umask(0o077);
endOnSignal();
endOnBrokenPipe(process.stdout, (status) => process.exit(status));
endOnBrokenPipe(process.stderr, (status) => process.exit(status));
process.exitCode = await run(processIo);
setTimeout(() => process.exit(), OVER).unref();
