import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { HOST, TENANT } from "./base.ts";
import type { Deployment } from "./deployment.ts";
import type { How } from "./product.ts";
import { askProxy } from "./proxy.ts";
import type { Ran } from "./seen.ts";
import { until } from "./wait.ts";

/** A `nova-compute` counts as stopped a minute after its last heartbeat. */
const SILENT_SECONDS = 60;

/** Runs a command of one run of the tool. */
export type Does = (title: string, command: string, ...options: readonly string[]) => Promise<Ran>;

/**
 * Gives the run's commands their databases, as the runbook has them.
 *
 * @param how `watch`: seconds that heartbeats are watched, an operator's is the tool's own default; `run`: its folder
 */
export function commandsOf(
  { product, files, stack, by, fleet }: Deployment,
  {
    watch = 20,
    run = files.run,
    ...how
  }: How & { readonly watch?: number; readonly run?: string } = {},
): Does {
  const watched = ["--watch", String(watch)];
  const { at, site, novaConf, tftp } = files;
  const nova = ["--nova-db", at.nova, "--nova-api-db", at.novaApi];
  const rows = ["--ironic-db", at.ironic];
  const ironic = by === "rest" ? ["--ironic-url", stack.ironic.url] : rows;
  const both = [...ironic, ...nova];
  const host = by === "rename" ? ["--compute-host", fleet.host] : [];
  const own: { readonly [command: string]: readonly string[] } = {
    extract: [
      ...["--nova-bm-db", at.novaBm, "--nova-db", at.nova],
      ...["--nova-conf", `${HOST}=${novaConf}`, "--tftp-root", `${HOST}=${tftp}`],
    ],
    power: ["--site", site, "--ironic-release", "2023.1"],
    plan: [...both, "--site", site, "--allow-pairing", ...host],
    check: [
      ...["--nova-bm-db", at.novaBm, ...rows, ...nova, "--placement-db", at.placement],
      ...["--allow-pairing", ...watched],
    ],
    apply: [...both, ...watched, "--yes"],
    rollback: [...both, ...watched, "--yes"],
    verify: ironic,
    handover: [...ironic, "--conductor-log", stack.ironic.log, "--yes"],
    finish: [...ironic, "--yes"],
    config: ["--nova-conf", `${HOST}=${novaConf}`],
  };
  return (title, command, ...options) =>
    product.run(title, [command, "--run", run, ...(own[command] ?? []), ...options], how);
}

/** The upgrade, up to tenants on Ironic: the product's stages in the order of its manual. */
export async function forward(deployment: Deployment): Promise<void> {
  const { see, by } = deployment;
  const does = commandsOf(deployment, by === "rows" ? {} : { watch: 1 });
  await carry(deployment, does);
  await reconfigure(deployment, does);
  await startIronicCompute(deployment);
  const { nova, novaApi, placement } = deployment.files.at;
  const all = ["--nova-db", nova, "--nova-api-db", novaApi, "--placement-db", placement];
  await does("verify-nova", "verify", ...all, "--final");
  await see("after", { ironic: true });
  await askProxy(deployment);
  await does("finish", "finish");
  await see("finished", { ironic: true });
}

/** From the first read to a fleet that conductors have. */
async function carry(deployment: Deployment, does: Does): Promise<void> {
  const { by, stack, tell } = deployment;
  if (by === "rest") {
    // Adoption is a conductor's work.
    await stack.ironic.wake();
    tell("Ironic answers");
  }
  await load(deployment, does, ...(by === "rename" ? ["--staged"] : []));
  if (by === "rename") {
    await stack.ironic.wake();
    await does("handover", "handover");
  }
  await wake(deployment);
  if (by === "rest") return;
  await does(
    "verify-logged",
    "verify",
    "--takeover",
    "--conductor-log",
    deployment.stack.ironic.log,
  );
  await does("verify-takeover", "verify", "--takeover");
}

/** From the first read to Ironic's rows. */
export async function load(
  deployment: Deployment,
  does: Does,
  ...how: readonly string[]
): Promise<void> {
  await plan(deployment, does);
  await does("check", "check");
  await silent(deployment);
  await does("apply", "apply", ...how);
}

/** From the first read to a plan. */
export async function plan({ fleet }: Deployment, does: Does): Promise<void> {
  const [kernel, ramdisk] = fleet.images.new;
  await does("extract", "extract");
  await does("power", "power");
  await does("plan", "plan", "--deploy-kernel", kernel, "--deploy-ramdisk", ramdisk);
}

/** Waits until the nova-compute's last heartbeat is old enough for apply. */
export async function silent(deployment: Deployment): Promise<void> {
  await until("the nova-compute is silent", async () => {
    const age = await heartbeat(deployment, HOST);
    return age > SILENT_SECONDS ? null : `it reported ${age} s ago`;
  });
}

/** Waits until the nova-compute that was just started reports. */
export async function reporting(deployment: Deployment, host: string): Promise<void> {
  await until("the nova-compute reports", async () => {
    const ended = deployment.computeEnded();
    if (ended !== null) throw new Error(`the nova-compute ended by itself:\n${ended}`);
    const age = await heartbeat(deployment, host);
    return age < SILENT_SECONDS / 4 ? null : `it reported ${age} s ago`;
  });
}

const AGE = {
  mysql: "TIMESTAMPDIFF(SECOND, last_seen_up, UTC_TIMESTAMP())",
  postgresql: "FLOOR(EXTRACT(EPOCH FROM timezone('UTC', clock_timestamp()) - last_seen_up))",
};

/** Seconds since a host's last heartbeat, by the database's clock; never, of one without. */
async function heartbeat({ stack }: Deployment, host: string): Promise<number> {
  const db = stack.db("nova_cell1");
  const row = await db("services")
    .where({ host, deleted: 0 })
    .first({ age: db.raw(AGE[stack.server.engine]) });
  return Number(row?.age ?? Number.POSITIVE_INFINITY);
}

/** Starts Ironic and waits until it has taken machines over and knows their power. */
export async function wake({ stack, tell }: Deployment): Promise<void> {
  await stack.ironic.wake();
  const nodes = stack.db(stack.ironic.database);
  const took = await until("Ironic takes the machines over", async () => {
    const rows: readonly { readonly uuid: string }[] = await nodes("nodes")
      .where({ maintenance: false })
      .andWhere((row) =>
        row
          .whereNull("power_state")
          .orWhere((used) =>
            used.where({ provision_state: "active" }).whereNull("conductor_affinity"),
          ),
      );
    return rows.length === 0 ? null : `${rows.length} machines are not, ${rows[0]?.uuid} first`;
  });
  tell(`Ironic has taken over after ${took.toFixed(1)} s`);
}

/** The product's patch, applied to the real nova.conf by patch(1). */
export async function reconfigure({ files, fleet, tell }: Deployment, does: Does): Promise<void> {
  const { out } = await does("config", "config");
  writeFileSync(join(files.folder, "nova.conf.patch"), out);
  const patched = spawnSync("patch", ["-d", "/", "-p0"], { input: out, encoding: "utf8" });
  if (patched.status !== 0) throw new Error(`patch: ${patched.stdout}${patched.stderr}`);
  tell(patched.stdout.trim());
  // The host's name is the operator's to change, as his plan has it.
  const conf = readFileSync(files.novaConf, "utf8");
  writeFileSync(files.novaConf, conf.replace(`host = ${HOST}\n`, `host = ${fleet.host}\n`));
  await does("config-checked", "config", "--check");
}

/** Starts nova-compute with the ironic driver and waits until Nova offers every machine through it. */
export async function startIronicCompute(deployment: Deployment): Promise<void> {
  const { stack, fleet, startCompute, tell } = deployment;
  startCompute("ironic");
  await reporting(deployment, fleet.host);
  const offered = [...fleet.tenants, ...fleet.ill, ...fleet.free];
  const took = await until("Nova offers the machines through Ironic", async () => {
    const rows: readonly { readonly hypervisor_hostname: string }[] = await stack
      .db("nova_cell1")("compute_nodes")
      .where({ deleted: 0, hypervisor_type: "ironic" });
    const there = new Set(rows.map((row) => row.hypervisor_hostname));
    const missing = offered.filter((uuid) => !there.has(uuid));
    return missing.length === 0 ? null : `${missing.length} are missing, ${missing[0]} first`;
  });
  await until("Nova knows the tenants' power", async () => {
    const wrong = await stack
      .db("nova_cell1")("instances")
      .where({ deleted: 0 })
      .andWhere("display_name", "like", `${TENANT}%`)
      .whereNot({ power_state: 1 });
    return wrong.length === 0 ? null : `${wrong.length} servers are not running`;
  });
  tell(`Nova offers the machines after ${took.toFixed(1)} s`);
}
