import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { bigFleet } from "../lab/bmc/addresses.ts";
import { startFarmProcess } from "../lab/bmc/process.ts";
import { tool } from "../lab/bmc/tools.ts";

const ASK = fileURLToPath(new URL("./ask.js", import.meta.url));
const PASSWORD = "bench-secret";
const USERS = [{ name: "admin", password: PASSWORD }];

interface Took {
  readonly seconds: number;
  /** Seconds of user and system time, children included. */
  readonly cpu: number;
}

interface Asked extends Took {
  readonly bytes: number;
  readonly verdicts: { readonly [verdict: string]: number };
}

/** A counter of the kernel's for UDP, since the machine started: RcvbufErrors, a socket was full. */
function udp(counter: "RcvbufErrors" | "OutDatagrams"): number {
  const [names = "", values = ""] = readFileSync("/proc/net/snmp", "utf8")
    .split("\n")
    .filter((line) => line.startsWith("Udp:"));
  return Number(values.split(" ")[names.split(" ").indexOf(counter)] ?? 0);
}

function native(addresses: readonly string[], rate: number): Asked {
  const { stdout } = spawnSync(process.execPath, [ASK, String(rate)], {
    input: `${addresses.join("\n")}\n`,
    encoding: "utf8",
  });
  // ask.ts writes this line.
  return JSON.parse(stdout) as Asked;
}

/** A shell's own account of a command and all it starts. */
function timed(command: string): Took {
  const script = `TIMEFORMAT='%R %U %S'; time { ${command}; } >/dev/null 2>/dev/null`;
  const { stderr } = spawnSync("bash", ["-c", script], { encoding: "utf8" });
  const [seconds = 0, user = 0, system = 0] = (stderr.trim().split("\n").at(-1) ?? "")
    .split(" ")
    .map(Number);
  return { seconds, cpu: user + system };
}

function line(name: string, bmcs: number, { seconds, cpu }: Took, more = ""): string {
  return `  ${name.padEnd(22)} ${String(bmcs).padStart(6)}  ${seconds.toFixed(1).padStart(6)} s  ${((cpu * 1000) / bmcs).toFixed(2).padStart(7)} ms CPU each${more}`;
}

/** The part of the benchmark that asks BMCs: 10,000 of them, then the peers on the same 200. */
export async function benchPower(write: (text: string) => void): Promise<void> {
  const fleet = bigFleet(10_000);
  const farm = await startFarmProcess({
    bmcs: fleet.map((address) => ({ address, users: USERS, delayMs: 20 })),
  });
  const folder = mkdtempSync(join(tmpdir(), "n2i-bench-power-"));
  try {
    const before = udp("RcvbufErrors");
    const all = native(fleet, 400);
    write("power: fake BMCs, 20 ms to each reply\n");
    write(
      `${line("native, 400 starts/s", fleet.length, all, `, peak ${(all.bytes / 1e6).toFixed(0)} MB, RcvbufErrors +${udp("RcvbufErrors") - before}, ${JSON.stringify(all.verdicts)}`)}\n`,
    );
    const few = fleet.slice(0, 200);
    /** Questions one of a few BMCs was asked: half of what went over the wire. */
    const asked = <T>(work: () => T): readonly [T, number] => {
      const sent = udp("OutDatagrams");
      const done = work();
      return [done, Math.round((udp("OutDatagrams") - sent) / 2 / few.length)];
    };
    const [own, ours] = asked(() => native(few, 10_000));
    write(`${line("native, with its start", few.length, own)}\n`);
    // What one BMC costs once the program runs: the start is spread over 10,000.
    const per = (all.cpu * few.length) / fleet.length;
    const password = join(folder, "password");
    writeFileSync(password, PASSWORD, { mode: 0o600 });
    const list = join(folder, "addresses");
    writeFileSync(list, few.join("\n"));
    const ipmitool = tool("ipmitool");
    if (ipmitool !== null) {
      const forked = timed(
        `xargs -P 64 -I {} ${ipmitool} -I lanplus -H {} -U admin -f ${password} -C 3 -L ADMINISTRATOR power status < ${list}`,
      );
      write(
        `${line("ipmitool, 64 at once", few.length, forked, `, ${(forked.cpu / per).toFixed(0)}x native's (${(forked.cpu / own.cpu).toFixed(0)}x with its start)`)}\n`,
      );
    }
    const ipmipower = tool("ipmipower");
    if (ipmipower !== null) {
      const config = join(folder, "freeipmi.conf");
      writeFileSync(
        config,
        `username admin\npassword ${PASSWORD}\ndriver-type LAN_2_0\ncipher-suite-id 3\n`,
        { mode: 0o600 },
      );
      const [one, theirs] = asked(() =>
        timed(`${ipmipower} --config-file=${config} -h ${few.join(",")} --stat`),
      );
      // It lists no cipher suites and does not ask what device this is.
      const each = one.cpu / few.length / theirs / (all.cpu / fleet.length / ours);
      write(
        `${line("ipmipower", few.length, one, `, ${(one.cpu / per).toFixed(2)}x native's (${(one.cpu / own.cpu).toFixed(2)}x with its start); for each of its ${theirs} questions ${each.toFixed(2)}x native's for each of ${ours}`)}\n`,
      );
    }
  } finally {
    await farm.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}
