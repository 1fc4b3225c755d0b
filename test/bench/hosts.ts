import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { connect } from "../lab/connect.ts";
import { startMariadb } from "../lab/mariadb.ts";
import type { Server } from "../lab/server.ts";
import { loadHosts, reportAgain } from "../takeover/cloud.ts";
import { command, type Ran } from "./command.ts";
import { inFolder, judge, timed, type Write } from "./measure.ts";

const SIZES = [1_000, 100_000];
/** Times the two plain statements, CPU seconds of plan and move for a thousand machines, MiB at any size. */
const LIMITS = { times: 3, cpu: 1.5, rss: 120 } as const;

/** Machines, each with a tenant, of one compute host to another, beside the two statements by hand. */
export async function benchHosts(sizes: readonly number[], write: Write): Promise<void> {
  const server = await startMariadb("on disk");
  write(
    "\nmachines of one compute host to another, on MariaDB (nova-manage: 4.0 CPU s a machine, measured)\n",
  );
  write("   machines  by hand s  written s  times    cpu s  peak MiB\n");
  try {
    for (const machines of sizes.length > 0 ? sizes : SIZES)
      await inFolder((folder) => one(server, folder, machines, write));
  } finally {
    await server.stop();
  }
}

function took({ begun, ended }: Ran, stage: string): number {
  return (ended[stage]?.seconds ?? Number.NaN) - (begun[stage]?.seconds ?? Number.NaN);
}

async function one(server: Server, folder: string, machines: number, write: Write) {
  const name = `hosts_${machines}`;
  await server.newDatabase(name);
  const db = connect({ ...server, database: name });
  try {
    await loadHosts(db, "mysql", { machines, tenants: true });
    const hand = (to: string, from: string): Promise<number> =>
      timed(async () => {
        await db("compute_nodes").where({ host: from, deleted: 0 }).update({ host: to });
        await db("instances").where({ host: from, deleted: 0 }).update({ host: to });
      });
    const times = [await hand("H3", "H1"), await hand("H1", "H3")];
    await db("compute_nodes").where({ host: "H1", id: 9000002 }).update({ host: "H3" });
    const plain = Math.max(...times);
    writeFileSync(join(folder, "nova.url"), server.url(name), { mode: 0o600 });
    const at = ["--run", join(folder, "run"), "--nova-db", `file:${join(folder, "nova.url")}`];
    await reportAgain(db);
    // What a move waits to see that a host is silent is no work.
    const where = ["--from", "H1", "--to", "H2", "--service-down-time", "0.1"];
    const planned = await command(folder, ["host", "plan", ...at, ...where]);
    const moved = await command(folder, ["host", "move", ...at, "--yes"]);
    const written = took(moved, "host move");
    const cpu = (planned.cpu ?? 0) + (moved.cpu ?? 0);
    const rss = Math.max(planned.rss ?? 0, moved.rss ?? 0);
    const cells = [
      plain.toFixed(3),
      written.toFixed(3),
      (written / plain).toFixed(1),
      cpu.toFixed(2),
      rss.toFixed(0),
    ];
    write(`  ${String(machines).padStart(9)} ${cells.map((cell) => cell.padStart(9)).join(" ")}\n`);
    if (machines <= 1_000) {
      judge(write, "times the statements by hand:", written / plain, LIMITS.times);
      judge(write, "CPU seconds of plan and move:", cpu, LIMITS.cpu);
    }
    judge(write, "MiB:", rss, LIMITS.rss);
  } finally {
    await db.destroy();
    await server.dropDatabase(name);
  }
}
