import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { loadavg } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { stringify } from "yaml";
import { USUAL_PACE } from "../../src/model/handover.ts";
import { paceOf } from "../../src/window/handover/conductor-pace.ts";
import { forecast } from "../../src/window/report/rules/window.ts";
import { type Case, caseUuid } from "../cases/case.ts";
import { writeCase } from "../cases/write-case.ts";
import { SITE, tenant } from "../hostile/fleet.ts";
import { passwordOf } from "../ironic/fleet.ts";
import { connect } from "../lab/connect.ts";
import type { Section } from "../lab/ironic/config.ts";
import { type IronicServer, startIronic } from "../lab/ironic/start.ts";
import type { Server } from "../lab/server.ts";
import { startMariadb } from "../lab/start.ts";
import { freeAddresses, startFarm } from "../support/bmc/index.ts";
import { command } from "./command.ts";
import { inFolder, judge, type Write } from "./measure.ts";
import { secondsOf } from "./processor.ts";

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
const NET = 250;
const ERROR = /^.* (ERROR|CRITICAL) .*$/gm;
/** Two of three machines have an instance, as in a fleet that is worth a window. */
const isUsed = (id: number): boolean => id % 3 !== 0;
const ACCEPTED = ["N2I-D100", "N2I-D227", "N2I-D403", "N2I-D605"];

const SERVICE = {
  ...{ id: 100, host: "ironic-1", binary: "nova-compute", topic: "compute" },
  ...{ report_count: 10, disabled: false, deleted: 0 },
};
/** As Nova lists a machine of Ironic. */
const COMPUTE = {
  ...{
    service_id: SERVICE.id,
    deleted: 0,
    cpu_info: "",
    hypervisor_type: "ironic",
    hypervisor_version: 1,
  },
  ...{ vcpus: 0, memory_mb: 0, local_gb: 0, vcpus_used: 0, memory_mb_used: 0, local_gb_used: 0 },
};

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
export async function benchWindow(asked: WindowAsked, write: Write): Promise<void> {
  const ends: (() => unknown)[] = [];
  try {
    const all = await started(asked, ends);
    await inFolder((folder) => night(asked, all, folder, write));
  } finally {
    for (const end of ends.toReversed()) await end();
  }
}

/** Starts the servers. @param ends gets a function that stops each of them */
async function started(asked: WindowAsked, ends: (() => unknown)[]) {
  const server = await startMariadb("on disk");
  ends.push(server.stop);
  const conductors: IronicServer[] = [];
  for (let at = 0; at < asked.conductors; at += 1) {
    const conductor = { ...SHIPPED.conductor, ...asked.conductor };
    const more = { ...SHIPPED, conductor, DEFAULT: { host: `lab-${at}` } };
    const shared = conductors[0] && { database: conductors[0].database };
    const made = await startIronic(server, { asleep: true, more, ...shared });
    conductors.push(made);
    ends.push(made.stop);
  }
  const addresses: string[] = [];
  for (let left = asked.machines; left > 0; left -= NET)
    addresses.push(...(await freeAddresses(Math.min(NET, left))));
  const bmcs = addresses.map((address, at) => ({
    ...{ address, power: isUsed(at + 1), dead: at % 100 < asked.silent },
    users: [{ name: "admin", password: passwordOf(at + 1) }],
  }));
  const farm = await startFarm({ bmcs });
  ends.push(farm.close);
  return { server, conductors, farm, addresses };
}

async function night(
  { machines, silent, ...asked }: WindowAsked,
  { server, conductors, farm, addresses }: Awaited<ReturnType<typeof started>>,
  folder: string,
  write: Write,
): Promise<void> {
  const written = await writeCase(fleet(addresses), folder);
  const database = conductors[0]?.database ?? "";
  writeFileSync(join(folder, "ironic.url"), server.url(database), { mode: 0o600 });
  const confs = conductors.map(({ log }) => join(dirname(log), "ironic.conf"));
  writeFileSync(join(folder, "nova2ironic.yaml"), stringify({ ironic_conf: confs }));
  const settings = Object.entries({ ...SHIPPED.conductor, ...asked.conductor });
  const told = settings.map((one) => one.join(" ")).join(", ");
  write(
    `window: ${machines} machines, ${asked.conductors} conductors (${told}), load ${loads()}\n`,
  );
  const row = (name: string, seconds: number): void =>
    write(`  ${name.padEnd(12)} ${seconds.toFixed(1).padStart(7)} s\n`);
  const also = silent > 0 ? [3] : [];
  const run = async (name: string, ...words: readonly string[]): Promise<void> => {
    row(name, (await command(folder, [name, "--run", "run", ...words], { also })).seconds);
  };
  await run("extract", ...written.extract);
  await run("power", "--site", join(folder, "site.json"), "--ironic-release", "2023.1");
  const reached = ["--ironic-db", "file:ironic.url", "--max-unreachable", "100"];
  await run("plan", ...reached, ...written.plan);
  const at = { handover: hook(folder, "before-handover"), final: hook(folder, "before-final") };
  // The power of a machine whose BMC is silent is never known, which the last stage would wait for.
  const skip = silent > 0 ? ["--skip-blocked", "--until", "takeover"] : [];
  const words = ["run", "--run", "run", "--staged", "--yes", ...skip];
  const running = command(folder, words, { also });
  await at.handover.begins(running);
  for (const conductor of conductors) await conductor.wake();
  const hushed = addresses.filter((_, one) => one % 100 >= 100 - silent);
  for (const address of hushed) farm.change(address, { dead: true });
  const before = conductors.map(cpuOf);
  const passes = watched(server, database);
  const died = killed(conductors.at(-1), asked.kill);
  at.handover.ends();
  await at.final.begins(running);
  const cpu = conductors.map((one, at) => cpuOf(one) - (before[at] ?? 0));
  await died;
  const taken = await passes();
  if (silent === 0) {
    await computeStarts(folder, machines);
    at.final.ends();
  }
  const { seconds } = await running;
  const stages = stagesOf(join(folder, "run", "window.jsonl"));
  for (const [name, took] of stages) row(name, took);
  const took = stages.get("handover") ?? Number.NaN;
  const [used, pace] = [addresses.filter((_, at) => isUsed(at + 1)), await paceOf(confs)];
  const { seconds: foreseen } = forecast(used.length, pace ?? USUAL_PACE);
  write(`    ${Math.round((machines * 60) / took)} machines a minute, load ${loads()}\n`);
  write(`    taken over, by second: ${taken.join(" ")}\n`);
  write(`    CPU of conductors: ${cpu.map((one) => `${Math.round((100 * one) / took)} %`)}\n`);
  judge(write, "seconds of handover", took, 360);
  const off = Math.abs(took / (foreseen ?? 0) - 1) * 100;
  if (asked.kill === null)
    judge(write, `percent that the forecast of ${foreseen} s is off`, off, 20);
  const waited = at.handover.seconds() + at.final.seconds();
  judge(write, "seconds of run --staged, less those of people", seconds - waited, 720);
  const others = farm.commands().filter(({ command: is }) => !READS.has(is));
  judge(write, "commands to BMCs that are no reads", others.length, 0);
  for (const one of new Set(others.map(({ command: is }) => is))) write(`    ${one}\n`);
  const errors = conductors.flatMap(({ log }) => readFileSync(log, "utf8").match(ERROR) ?? []);
  judge(write, "ERROR lines of conductors", errors.length, 0);
  for (const line of errors.slice(0, 5)) write(`    ${line}\n`);
}

/** A step of people amid the run: a hook that begins it and waits for its end. */
function hook(folder: string, name: string) {
  const [path, asks] = [join(folder, "run", "hooks", name), join(folder, name)];
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const program = `#!/bin/sh\n: > '${asks}'\nwhile [ -e '${asks}' ]; do sleep 0.1; done\n`;
  writeFileSync(path, program, { mode: 0o700 });
  let [began, ended] = [0, 0];
  return {
    begins: async (running: Promise<unknown>) => {
      let over = false;
      const end = running.finally(() => {
        over = true;
      });
      end.catch(() => undefined); // `running` itself is awaited later
      while (!existsSync(asks) && !over) await sleep(100);
      if (over) await end;
      else began = performance.now();
    },
    ends: () => {
      rmSync(asks);
      ended = performance.now();
    },
    seconds: () => (ended - began) / 1000,
  };
}

async function computeStarts(folder: string, machines: number): Promise<void> {
  const db = connect({ engine: "sqlite", database: join(folder, "nova.sqlite") });
  try {
    await db("services").insert(SERVICE);
    for (let id = 1; id <= machines; id += 1) {
      const hypervisor_hostname = caseUuid("node", id);
      await db("compute_nodes").insert({ ...COMPUTE, id: 10_000 + id, hypervisor_hostname });
    }
  } finally {
    await db.destroy();
  }
}

/** Seconds of each stage by the record of the window; of a repeated one, the sum. */
function stagesOf(record: string): ReadonlyMap<string, number> {
  const took = new Map<string, number>();
  let began = 0;
  for (const line of readFileSync(record, "utf8").split("\n").filter(Boolean)) {
    const { do: what, at, stage } = JSON.parse(line) as Record<"do" | "at" | "stage", string>;
    if (what === "begin") began = Date.parse(at);
    if (what === "end") took.set(stage, (took.get(stage) ?? 0) + (Date.parse(at) - began) / 1000);
  }
  return took;
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
