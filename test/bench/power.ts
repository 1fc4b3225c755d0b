import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { tool } from "../lab/bmc/tools.ts";
import { bigFleet, startFarmProcess } from "../support/bmc/index.ts";
import { inFolder, judge, middle, type Write } from "./measure.ts";

const ASK = fileURLToPath(new URL("./ask.js", import.meta.url));
const PASSWORD = "bench-secret";
const USERS = [{ name: "admin", password: PASSWORD }];
/** BMCs that both clients are given, in turn. */
const PAIRED = 1000;
const ROUNDS = 3;
/** One in so many never answers. */
const SILENT = 50;
/** Seconds for all of them. */
const LIMIT = 60;
/** MiB of the process of all fake BMCs. */
const FARM_LIMIT = 143;

interface Took {
  readonly seconds: number;
  /** Seconds of user and system time, children included. */
  readonly cpu: number;
  readonly answered: number;
}

interface Asked extends Took {
  readonly bytes: number;
  readonly verdicts: { readonly [verdict: string]: number };
}

function native(addresses: readonly string[], rate: number): Asked {
  const { stdout } = spawnSync(process.execPath, [ASK, String(rate)], {
    input: `${addresses.join("\n")}\n`,
    encoding: "utf8",
  });
  // ask.ts writes this line.
  const told = JSON.parse(stdout) as Omit<Asked, "answered">;
  return { ...told, answered: told.verdicts.ok ?? 0 };
}

/** A shell's own account of a command and all it starts, and how many power states it printed. */
function timed(command: string, isState: RegExp): Took {
  const script = `TIMEFORMAT='%R %U %S'; time { ${command}; } 2>/dev/null`;
  const { stdout, stderr } = spawnSync("bash", ["-c", script], {
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
  });
  const [seconds = 0, user = 0, system = 0] = (stderr.trim().split("\n").at(-1) ?? "")
    .split(" ")
    .map(Number);
  const answered = stdout.split("\n").filter((text) => isState.test(text)).length;
  return { seconds, cpu: user + system, answered };
}

function line(name: string, bmcs: number, took: Took, more = ""): string {
  const { seconds, cpu, answered } = took;
  return `  ${name.padEnd(24)} ${String(answered).padStart(6)} of ${String(bmcs).padStart(6)}  ${seconds.toFixed(1).padStart(6)} s  ${((cpu * 1000) / bmcs).toFixed(2).padStart(7)} ms CPU each${more}\n`;
}

/**
 * The part of the benchmark that asks BMCs: 10,000 with 2 % silent and one that is always full; then
 * our client and ipmipower in turn on the same 1,000 with 2 % silent, each with 256 in flight.
 */
export async function benchPower(write: Write): Promise<void> {
  const fleet = bigFleet(10_000);
  const farm = await startFarmProcess({
    bmcs: fleet.map((address, at) => ({
      ...{ address, users: USERS, delayMs: 20 },
      ...(at % SILENT === 1 && { dead: true }),
      ...(at === PAIRED && { openStatus: { "*": 1 } }),
    })),
  });
  try {
    const all = native(fleet, 400);
    write("power: fake BMCs, 20 ms to each reply, 2 % silent, one of 10,000 always full\n");
    write(
      line(
        "native, 400 starts/s",
        fleet.length,
        all,
        `, peak ${(all.bytes / 1e6).toFixed(0)} MB, ${JSON.stringify(all.verdicts)}`,
      ),
    );
    const { rssMiB } = await farm.ask({ do: "usage" });
    judge(write, "MiB for 10,000 fake BMCs:", rssMiB, FARM_LIMIT);
    judge(write, "seconds for 10,000:", all.seconds, LIMIT);
    await inFolder(async (folder) => paired(fleet.slice(0, PAIRED), folder, write));
  } finally {
    await farm.stop();
  }
}

/** Both clients in turn, so that whatever else runs here is in the way of both. */
function paired(addresses: readonly string[], folder: string, write: Write): void {
  const ipmipower = tool("ipmipower");
  const config = join(folder, "freeipmi.conf");
  const words = `username admin\npassword ${PASSWORD}\ndriver-type LAN_2_0\ncipher-suite-id 3\n`;
  writeFileSync(config, words, { mode: 0o600 });
  const ratios: number[] = [];
  for (let at = 0; at < ROUNDS; at++) {
    const own = native(addresses, 10_000);
    write(line("native, 256 in flight", addresses.length, own));
    const command = `${ipmipower} --config-file=${config} -F 256 -h ${addresses.join(",")} --stat`;
    const theirs = timed(command, /: (on|off)$/);
    write(line("ipmipower -F 256", addresses.length, theirs));
    // What a client pays for each answer: who asks fewer is no cheaper.
    ratios.push(own.cpu / own.answered / (theirs.cpu / Math.max(1, theirs.answered)));
  }
  write(
    `  native's CPU for each answer is ${middle(ratios).toFixed(2)}x ipmipower's, its start included\n`,
  );
}
