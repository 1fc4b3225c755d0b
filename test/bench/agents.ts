import { type ChildProcess, spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Knex } from "knex";
import { program } from "../../src/edge/disk/package-root.ts";
import { bootFiles, loadAgents, report } from "../hosts/agents.ts";
import { connect } from "../lab/connect.ts";
import { startMariadb } from "../lab/mariadb.ts";
import type { Server } from "../lab/server.ts";
import { command } from "./command.ts";
import { inFolder, judge, type Write } from "./measure.ts";
import { secondsOf } from "./processor.ts";

const MACHINES = 60;
const DEAD = "compute-0";
const TAKERS = ["compute-1", "compute-2", "compute-3"];
const HOSTS = [DEAD, ...TAKERS];
/** Seconds: --ttl, --interval, and how long the processor of idle agents is looked at. */
const [TTL, SCAN, IDLE] = [60, 10, 90];
/** Seconds from the kill to every machine owned; percent of a core. */
const LIMITS = { owned: 90, core: 0.2 } as const;
/** Milliseconds between two looks at who owns what. */
const PACE = 250;

/** A nova-compute host with sixty machines dies with its agent; three others' agents take them over. */
export async function benchAgents(write: Write): Promise<void> {
  const server = await startMariadb("on disk");
  await inFolder((folder) => measured(server, folder, write)).finally(server.stop);
}

async function measured(server: Server, folder: string, write: Write) {
  write(
    `\nagents of nova-baremetal: ${MACHINES} machines of a host that dies, ${TAKERS.length} agents, TTL ${TTL} s, scan ${SCAN} s, on MariaDB\n`,
  );
  const [bm, nova] = await Promise.all(
    ["nova_bm", "nova"].map(async (name) => {
      await server.newDatabase(name);
      return connect({ ...server, database: name });
    }),
  );
  if (bm === undefined || nova === undefined) throw new Error("two were made");
  await loadAgents({ bm, nova, engine: "mysql" }, HOSTS, MACHINES);
  bootFiles(folder, HOSTS, MACHINES);
  for (const name of ["nova_bm", "nova"])
    writeFileSync(join(folder, name), server.url(name), { mode: 0o600 });
  const at = ["--nova-bm-db", `file:${join(folder, "nova_bm")}`];
  await command(folder, ["host", "schema", "extend", ...at, "--yes"]);
  const alive = new Set(HOSTS);
  const reporting = setInterval(() => {
    report(nova, [...alive]).catch((cause: unknown) => write(`  ${String(cause)}\n`));
  }, 1000);
  const agents = new Map(HOSTS.map((host) => [host, agent(folder, host, at)]));
  const said = [...agents.values()].map(linesOf);
  try {
    await until(async () => (await bm("bm_service_leases")).length === HOSTS.length, 60);
    await until(async () => (await bm("bm_boot_records")).length === MACHINES / 2, 60);
    const pids = TAKERS.map((host) => agents.get(host)?.pid ?? 0);
    const before = pids.map(secondsOf);
    await sleep(IDLE * 1000);
    const core = pids.map((pid, index) => ((secondsOf(pid) - (before[index] ?? 0)) / IDLE) * 100);
    agents.get(DEAD)?.kill("SIGKILL");
    alive.delete(DEAD);
    const began = performance.now();
    await until(async () => (await left(bm, nova)) === 0, 300);
    const owned = (performance.now() - began) / 1000;
    const shares = await bm("bm_nodes").select("service_host").count("* as n").groupBy(1);
    const epochs = await bm("bm_nodes").where("service_epoch", "<>", 1);
    if (epochs.length > 0)
      throw new Error(`${epochs.length} machines changed hands more than once`);
    write(`  ${shares.map(({ service_host, n }) => `${service_host} ${n}`).join(", ")}\n`);
    judge(write, "seconds from the kill to every machine owned:", owned, LIMITS.owned);
    judge(write, "percent of a core, of an idle agent:", Math.max(...core), LIMITS.core);
  } catch (cause) {
    write(said.map((lines) => lines().join("\n")).join("\n"));
    throw cause;
  } finally {
    clearInterval(reporting);
    for (const one of agents.values()) one.kill("SIGKILL");
    await Promise.all([bm.destroy(), nova.destroy()]);
  }
}

/** Machines that nobody who lives serves, or that are under way. */
async function left(bm: Knex, nova: Knex): Promise<number> {
  const nodes = await bm("bm_nodes")
    .where({ service_host: DEAD })
    .orWhere({ task_state: "migrating" })
    .orWhereNotNull("prev_task_state");
  const instances = await nova("instances").where({ host: DEAD }).orWhereNotNull("task_state");
  return nodes.length + instances.length;
}

async function until(isSo: () => Promise<boolean>, seconds: number): Promise<void> {
  const end = performance.now() + seconds * 1000;
  while (!(await isSo())) {
    if (performance.now() > end) throw new Error(`it was not so within ${seconds} s`);
    await sleep(PACE);
  }
}

function agent(folder: string, host: string, at: readonly string[]): ChildProcess {
  const words = [
    ...["host", "agent", "--host", host, ...at, "--nova-db", `file:${join(folder, "nova")}`],
    ...["--interval", String(SCAN), "--ttl", String(TTL), "--my-ip", "10.0.0.9"],
    ...["--tftp-root", join(folder, host), "--tftp-from", `${DEAD}=${join(folder, DEAD)}`],
    ...["--take", "--run", join(folder, `run-${host}`)],
  ];
  return spawn(process.execPath, [program(), ...words], { stdio: ["ignore", "pipe", "pipe"] });
}

/** What an agent said last. */
function linesOf(child: ChildProcess): () => readonly string[] {
  let kept = "";
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding("utf8").on("data", (text: string) => {
      kept = (kept + text).slice(-4000);
    });
  return () => kept.split("\n");
}
