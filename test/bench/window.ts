import { readFileSync, writeFileSync } from "node:fs";
import { loadavg } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Case, caseUuid } from "../../src/demo/case.ts";
import { writeCase } from "../../src/demo/write-case.ts";
import { SITE, tenant } from "../hostile/fleet.ts";
import { passwordOf } from "../ironic/fleet.ts";
import { connect } from "../lab/connect.ts";
import type { Section } from "../lab/ironic/config.ts";
import { type IronicServer, startIronic } from "../lab/ironic/start.ts";
import { startMariadb } from "../lab/mariadb.ts";
import type { Server } from "../lab/server.ts";
import { type FarmProcess, freeAddresses, startFarmProcess } from "../support/bmc/index.ts";
import { command } from "./command.ts";
import { inFolder, judge, type Write, withEnds } from "./measure.ts";
import { secondsOf } from "./processor.ts";

/** What a window is measured with. */
export interface WindowAsked {
  readonly machines: number;
  readonly conductors: number;
  /** Of [conductor], beside Ironic's own values. */
  readonly conductor: Section;
  /** Percent of BMCs that never answer, and as many others that are silent from the hand-over on. */
  readonly silent: number;
  /** Second of the hand-over at which the last conductor is killed, to be started again ten seconds later. */
  readonly kill: number | null;
}

/** As Ironic ships it, where the lab's are shorter. */
const SHIPPED = {
  conductor: {
    ...{ heartbeat_interval: 10, sync_power_state_interval: 60 },
    ...{ periodic_max_workers: 8, sync_local_state_interval: 180, workers_pool_size: 100 },
  },
  ipmi: { command_retry_timeout: 60, min_command_interval: 5 },
} as const;

/** What ipmitool asks besides, as network function and command: PICMG and VITA properties. */
const READS: ReadonlySet<string> = new Set(["2c/00", "2c/3e"]);
/** BMCs of a /24. */
const NET = 250;
const BEFORE: ReadonlySet<string> = new Set(["extract", "power", "plan"]);
const ERROR = /^.* (ERROR|CRITICAL) .*$/gm;
/** Two of three machines have an instance, as in a fleet that is worth a window. */
const isUsed = (id: number): boolean => id % 3 !== 0;
const ACCEPTED = ["N2I-D100", "N2I-D227", "N2I-D403", "N2I-D605"];

function fleet(addresses: readonly string[]): Case {
  const nodes = addresses.map((pm_address, at) => {
    const own = { pm_address, pm_password: passwordOf(at + 1) };
    return isUsed(at + 1) ? tenant(at + 1, own) : { id: at + 1, ...own };
  });
  const accept = ACCEPTED.map((finding) => ({ finding, reason: "bench" }));
  const used = nodes.filter(({ id }) => isUsed(Number(id)));
  return {
    shows: "a window",
    nova_bm: { nodes },
    nova: {
      instances: used.map(({ id }) => ({ uuid: caseUuid("instance", Number(id)), power_state: 1 })),
    },
    nova_conf: { "*": { flavor_extra_specs: "cpu_arch:x86_64" } },
    site: { ...SITE, machines: [...SITE.machines, { match: {}, accept }] },
    plan_nova: ["--compute-host", "ironic-1"],
    power: true,
    allow_pairing: true,
  };
}

/** One night from `extract` to `finish` on a real Ironic and simulated BMCs, without its waits for people. */
export function benchWindow(asked: WindowAsked, write: Write): Promise<void> {
  return withEnds(async (t) => {
    const server = await startMariadb("on disk");
    t.after(server.stop);
    const conductors: IronicServer[] = [];
    for (let at = 0; at < asked.conductors; at += 1) {
      const conductor = { ...SHIPPED.conductor, ...asked.conductor };
      const more = { ...SHIPPED, conductor, DEFAULT: { host: `lab-${at}` } };
      const [first] = conductors;
      const beside = first && { beside: first.database };
      conductors.push(await startIronic(server, { asleep: true, more, ...beside }));
      t.after(conductors.at(-1)?.stop);
    }
    const addresses: string[] = [];
    for (let left = asked.machines; left > 0; left -= NET)
      addresses.push(...(await freeAddresses(Math.min(NET, left))));
    const bmcs = addresses.map((address, at) => ({
      ...{ address, power: isUsed(at + 1), dead: at % 100 < asked.silent },
      users: [{ name: "admin", password: passwordOf(at + 1) }],
    }));
    const farm = await startFarmProcess({ bmcs });
    t.after(farm.stop);
    await inFolder((folder) =>
      night(asked, { server, conductors, farm, addresses, folder }, write),
    );
  });
}

interface Place {
  readonly server: Server;
  readonly conductors: readonly IronicServer[];
  readonly farm: FarmProcess;
  readonly addresses: readonly string[];
  readonly folder: string;
}

async function night(
  { machines, silent, ...asked }: WindowAsked,
  { server, conductors, farm, addresses, folder }: Place,
  write: Write,
): Promise<void> {
  const written = await writeCase(fleet(addresses), folder);
  const database = conductors[0]?.database ?? "";
  writeFileSync(join(folder, "ironic.url"), server.url(database), { mode: 0o600 });
  const ironic = ["--ironic-db", "file:ironic.url"];
  const nova = ["--nova-db", `sqlite:///${folder}/nova.sqlite`];
  const settings = Object.entries({ ...SHIPPED.conductor, ...asked.conductor });
  const told = settings.map((one) => one.join(" ")).join(", ");
  write(
    `window: ${machines} machines, ${asked.conductors} conductors (${told}), load ${loads()}\n`,
  );
  let all = 0;
  const run = async (name: string, ...words: readonly string[]): Promise<number> => {
    const also = silent > 0 ? [3] : [];
    const { seconds } = await command(folder, [name, "--run", "run", ...words], { also });
    write(`  ${name.padEnd(12)} ${seconds.toFixed(1).padStart(7)} s\n`);
    if (!BEFORE.has(name)) all += seconds;
    return seconds;
  };
  await run("extract", ...written.extract);
  await run("power", "--site", join(folder, "site.json"), "--ironic-release", "2023.1");
  await run("plan", ...ironic, ...written.plan, "--max-unreachable", "100");
  await run("check", ...ironic, ...nova, "--nova-bm-db", `sqlite:///${folder}/nova_bm.sqlite`);
  const skip = silent > 0 ? ["--skip-blocked"] : [];
  await run("apply", ...ironic, ...nova, "--yes", "--staged", ...skip);
  for (const conductor of conductors) await conductor.wake();
  const hushed = addresses.filter((_, one) => one % 100 >= 100 - silent);
  for (const address of hushed) await farm.ask({ do: "change", address, options: { dead: true } });
  const passes = watched(server, database);
  const died = killed(conductors.at(-1), asked.kill);
  const before = conductors.map(cpuOf);
  const took = await run("handover", ...ironic, "--yes");
  const cpu = conductors.map((one, at) => (100 * (cpuOf(one) - (before[at] ?? 0))) / took);
  await died;
  write(`    ${Math.round((machines * 60) / took)} machines a minute, load ${loads()}\n`);
  write(`    taken over, by second: ${(await passes()).join(" ")}\n`);
  write(`    CPU of conductors: ${cpu.map((one) => `${Math.round(one)} %`)}\n`);
  await run("verify", ...ironic, "--takeover");
  await run("verify", ...ironic, ...nova);
  await run("finish", ...ironic, "--yes");
  judge(write, "seconds of handover", took, 360);
  judge(write, "seconds from check to finish", all, 720);
  const others = (await farm.ask({ do: "commands" })).filter(({ command: is }) => !READS.has(is));
  judge(write, "commands to BMCs that are no reads", others.length, 0);
  for (const one of new Set(others.map(({ command: is }) => is))) write(`    ${one}\n`);
  const errors = conductors.flatMap(({ log }) => readFileSync(log, "utf8").match(ERROR) ?? []);
  judge(write, "ERROR lines of conductors", errors.length, 0);
  for (const line of errors.slice(0, 5)) write(`    ${line}\n`);
}

function loads(): string {
  return loadavg()
    .map((one) => one.toFixed(1))
    .join(" ");
}

/** Looks each second how many machines are taken over. The result ends it, and gives what each look found. */
function watched(server: Server, database: string): () => Promise<readonly string[]> {
  const began = performance.now();
  const seen: string[] = [];
  let going = true;
  const look = async (): Promise<void> => {
    const db = connect({ ...server, database });
    for (let last = 0; going; await sleep(1000)) {
      const [row] = await db("nodes").whereNotNull("conductor_affinity").count({ taken: "*" });
      const taken = Number(row?.taken);
      if (taken > last) seen.push(`${Math.round((performance.now() - began) / 1000)}:${taken}`);
      last = taken;
    }
    await db.destroy();
  };
  const looking = look();
  return async () => {
    going = false;
    await looking;
    return seen;
  };
}

async function killed(conductor: IronicServer | undefined, second: number | null): Promise<void> {
  if (second === null) return;
  await sleep(second * 1000);
  await conductor?.sleep();
  await sleep(10_000);
  await conductor?.wake();
}

/** Seconds; those of one that was killed are gone. */
function cpuOf({ log }: IronicServer): number {
  return secondsOf(Number(readFileSync(join(dirname(log), "pid"), "utf8")));
}
