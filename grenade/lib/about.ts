import { spawnSync } from "node:child_process";
import { loadavg } from "node:os";
import { packageRoot } from "../../src/run/files/package-root.ts";
import { SERVERS } from "../../test/lab/binaries.ts";
import { NOVA_DATABASES } from "../../test/lab/cloud/nova.ts";
import { versionsOf } from "../../test/lab/python.ts";
import type { Stack } from "./stack.ts";

/** Names of Python's packages, by what they are. */
const SERVICES = {
  ...{ Keystone: "keystone", Nova: "nova", Placement: "openstack-placement", Glance: "glance" },
  ...{ Neutron: "neutron", Ironic: "ironic" },
};

/** What was rehearsed, and on what: the commit, the day, how busy the machine was, and versions. */
export async function about({ server, sim, db }: Stack): Promise<readonly string[]> {
  const git = (...words: readonly string[]): string =>
    spawnSync("git", words, { cwd: packageRoot(), encoding: "utf8" }).stdout ?? "";
  const changed = git("status", "--porcelain") === "" ? "" : ", changed";
  const commit = `${git("rev-parse", "--short", "HEAD").trim() || "no commit"}${changed}`;
  const [, , load = 0] = loadavg();
  const { version } = await db(NOVA_DATABASES.cell)
    .select({ version: db(NOVA_DATABASES.cell).raw("VERSION()") })
    .first();
  const [number = ""] = /[\d.]+\d/.exec(version) ?? [];
  const versions = versionsOf(Object.values(SERVICES));
  const services = Object.keys(SERVICES).map((name, at) => `${name} ${versions[at]}`);
  return [
    `${commit}, ${new Date().toISOString().slice(0, 10)}, ${sim.addresses.length} machines, load ${load.toFixed(1)} at the end`,
    [...services, `${SERVERS[server.engine].title} ${number}`].join(", "),
  ];
}
