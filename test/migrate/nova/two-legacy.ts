import { randomUUID } from "node:crypto";
import { cpSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { LEGACY_DATABASE } from "../../../grenade/lib/base.ts";
import { offered } from "../../../grenade/lib/enroll.ts";
import { firstAlone } from "../../../grenade/lib/nova-races.ts";
import { packageRoot } from "../../../src/run/files/package-root.ts";
import { type IpmiSim, startIpmiSim } from "../../lab/bmc/sims.ts";
import { tool } from "../../lab/bmc/tools.ts";
import { owner, privateFolder } from "../../lab/folder.ts";
import { newPassword } from "../../lab/server.ts";
import { booting, type Compute, computeOf, type TwoComputes } from "./two-computes.ts";

const MACHINES = 3;
const TENANTS = 2;
const FOLDER = join(packageRoot(), "grenade", "legacy");

/** Two hosts of the stand-in for nova.virt.baremetal on a real nova_bm, beside those of a cloud's Ironic. */
export type TwoLegacy = Awaited<ReturnType<typeof twoLegacy>>;

/** Brings them up with a tenant on each of the first machines, all of them the first host's. */
export async function twoLegacy(
  cloud: TwoComputes,
  ends: (end: () => Promise<void> | void) => void,
) {
  const { stack, folder } = cloud;
  const secrets = Array.from({ length: MACHINES }, () => newPassword().slice(0, 16));
  const bmcs = secrets.map((password) => ({ power: false, password }));
  const sim = await startIpmiSim(tool("ipmi_sim"), bmcs);
  ends(sim.stop);
  const nodes = await fill(cloud, sim, secrets);
  const user = owner("nova");
  const trees = ["old-1", "old-2"].map((name) => privateFolder(`n2i-${name}-`, user));
  for (const tree of trees) ends(() => rmSync(tree, { recursive: true, force: true }));
  const [old = "", own = ""] = trees;
  const { url: legacy } = await stack.server.restrictedUser(
    ...(["novabm", LEGACY_DATABASE, "ALL PRIVILEGES"] as const),
  );
  const addresses = ["127.0.0.11", "127.0.0.12"] as const;
  const driver = Object.fromEntries(
    ["nova_compute.py", "legacy_bm.py"].map((name) => [
      name,
      readFileSync(join(FOLDER, name), "utf8"),
    ]),
  );
  const computes = ["old-1", "old-2"].map((host, at) =>
    computeOf(stack, host, {
      driver,
      conf: {
        DEFAULT: { compute_driver: "legacy_bm.LegacyBareMetalDriver", my_ip: addresses[at] ?? "" },
        baremetal: { sql_connection: legacy, tftp_root: trees[at] ?? "" },
      },
    }),
  );
  const [a, b] = computes as [Compute, Compute];
  for (const one of computes) ends(one.stop);
  const idle = await candidates(cloud);
  await a.start();
  await offered(stack, { host: a.host, resources: "CUSTOM_BM", machines: idle + MACHINES });
  const { network, images } = cloud;
  const boot = booting(stack, {
    ...{ image: images.tenant, network, host: a.host, logs: () => [a.log()] },
    on: (node) => sim.power(nodes.indexOf(node)),
  });
  const machines = [...nodes.slice(0, TENANTS).entries()];
  const tenants = await firstAlone(machines, ([at, node]) => boot(`legacy-${at}`, node));
  await b.start();
  let heard = sim.commands().length;
  // A copy that lost its kernels: Glance has them.
  const copy = join(folder, "copy-of-old-1");
  cpSync(old, copy, { recursive: true, verbatimSymlinks: true });
  for (const { server } of tenants)
    for (const name of ["kernel", "ramdisk"]) rmSync(join(copy, server, name));
  writeFileSync(join(own, "pxelinux.0"), "loader\n");
  const conf = join(folder, "old-2.conf");
  const [kernel, ramdisk] = images.old;
  const deploy = `deploy_kernel = ${kernel}\ndeploy_ramdisk = ${ramdisk}\n`;
  writeFileSync(
    conf,
    `[DEFAULT]\nmy_ip = ${addresses[1]}\n[baremetal]\ntftp_root = /tftpboot\n${deploy}`,
  );
  const at = (name: string, url: string): string => {
    writeFileSync(join(folder, name), url, { mode: 0o600 });
    return `file:${join(folder, name)}`;
  };
  return {
    ...{ a, b, tenants, tree: own, addresses },
    /** What BMCs were told that switches, since this was asked last. */
    told: () => {
      const all = sim.commands();
      const since = all.slice(heard);
      heard = all.length;
      return since.map((line) => line.replace(/^\d+/, (at) => `legacy-${at}`));
    },
    places: ["--nova-bm-db", at("novabm.url", legacy), "--nova-db", at("nova.url", cloud.url)],
    /** What a takeover by the second host is given besides. */
    boot: ["--tftp-root", own, "--tftp-from", `${a.host}=${copy}`, "--nova-conf", conf],
    env: { ...stack.cloud.env, OS_NETWORK_ENDPOINT_OVERRIDE: stack.neutron.url },
  };
}

async function candidates({ stack }: TwoComputes): Promise<number> {
  const all = await stack.asks<{ readonly allocation_requests: readonly unknown[] }>(
    ...(["placement", "GET", "/allocation_candidates?resources=CUSTOM_BM:1"] as const),
  );
  return all?.allocation_requests.length ?? 0;
}

async function fill(
  { stack: { server, db } }: TwoComputes,
  sim: IpmiSim,
  secrets: readonly string[],
): Promise<readonly string[]> {
  await server.newDatabase(LEGACY_DATABASE, "latin1");
  const legacy = db(LEGACY_DATABASE);
  for (const statement of readFileSync(join(FOLDER, "nova_bm.sql"), "utf8").split(";\n"))
    if (statement.trim() !== "") await legacy.raw(statement);
  const nodes = sim.addresses.map(() => randomUUID());
  for (const [at, pm_address] of sim.addresses.entries()) {
    const id = at + 1;
    await legacy("bm_nodes").insert({
      ...{ id, uuid: nodes[at], deleted: 0, cpus: 4, memory_mb: 4096, local_gb: 40 },
      ...{ pm_address, pm_user: "admin", pm_password: secrets[at], service_host: "old-1" },
      ...{ task_state: null, deploy_key: `KEY${id}` },
    });
    await legacy("bm_interfaces").insert({
      ...{ id, deleted: 0, bm_node_id: id, address: `52:54:00:00:02:0${at}` },
    });
  }
  return nodes;
}
