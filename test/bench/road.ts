import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { SITE } from "../hostile/fleet.ts";
import { connect, type Place } from "../lab/connect.ts";
import { addressFile } from "../lab/index.ts";
import type { Server } from "../lab/server.ts";
import { type Fleet, makeFleet } from "./fleet.ts";
import { inFolder } from "./measure.ts";

const NOVA_CONF = `[baremetal]
flavor_extra_specs = cpu_arch:x86_64
power_manager = nova.virt.baremetal.ipmi.IPMI
`;
const ACCEPTED = [
  { finding: "N2I-D604", reason: "a benchmark has no BMCs" },
  { finding: "N2I-D227", reason: "no nova-compute starts on these rows" },
];
const BENCH_SITE = {
  ...SITE,
  machines: SITE.machines.map((one) => ({ ...one, accept: ACCEPTED })),
};

export const NAMES = ["nova_bm", "nova", "ironic"] as const;
type Name = (typeof NAMES)[number];

/** The three databases of a benchmark: on a server, or as SQLite files in the folder. */
export type Ground = ReturnType<typeof groundIn>;

/** @param folder the working directory of the commands, with the other files that they read */
function groundIn(folder: string, server: Server | null) {
  const place = (name: string): Place =>
    server === null
      ? { engine: "sqlite", database: join(folder, `${name}.db`) }
      : { ...server, database: `bench_${name}` };
  const url = (name: Name): string =>
    addressFile(folder, name, server?.url(`bench_${name}`) ?? `sqlite:///${place(name).database}`);
  const urls = { nova_bm: url("nova_bm"), nova: url("nova"), ironic: url("ironic") };
  return { folder, engine: server?.engine ?? "sqlite", server, place, urls } as const;
}

/** Makes a fleet, and hands it out until the work is done. @param server null: SQLite */
export function withGround<T>(
  server: Server | null,
  fleet: Fleet,
  work: (ground: Ground) => Promise<T>,
): Promise<T> {
  return inFolder(async (folder) => {
    const ground = groundIn(folder, server);
    try {
      for (const name of NAMES) await server?.newDatabase(`bench_${name}`);
      const open = (name: Name) => connect(ground.place(name));
      const databases = { nova_bm: open("nova_bm"), nova: open("nova"), ironic: open("ironic") };
      try {
        await makeFleet(databases, ground.engine, fleet);
      } finally {
        for (const db of Object.values(databases)) await db.destroy();
      }
      writeFileSync(join(folder, "nova.conf"), NOVA_CONF);
      writeFileSync(join(folder, "site.json"), JSON.stringify(BENCH_SITE));
      return await work(ground);
    } finally {
      for (const name of NAMES) await server?.dropDatabase(`bench_${name}`);
    }
  });
}

export interface Step {
  readonly stage: string;
  readonly words: readonly string[];
}

/** What is done with Nova: nothing, it is read, or its rows change too: every machine gets another compute host. */
export type NovaPart = "left" | "read" | "changed";

/** All commands of a migration and its rollback. `load` is apply without the verification that follows in it. */
export function steps({ urls }: Ground, nova: NovaPart): readonly Step[] {
  const run = ["--run", "run"];
  const to = [...run, "--ironic-db", urls.ironic];
  const from = ["--nova-bm-db", urls.nova_bm];
  const cloud = nova === "left" ? [] : ["--nova-db", urls.nova];
  const hosts = nova === "changed" ? ["--compute-host", "ironic-1"] : [];
  // Its rows stay as they are on the other roads.
  const alone = ["--without", "nova-db"];
  const seen = nova === "changed" ? cloud : alone;
  const load = [
    ...to,
    ...(nova === "changed" ? [...cloud, "--watch", "0"] : ["--leave-nova"]),
    "--yes",
  ];
  return [
    { stage: "extract", words: ["extract", ...run, ...from, ...cloud, "--nova-conf", "nova.conf"] },
    { stage: "plan", words: ["plan", ...to, ...cloud, ...hosts, "--site", "site.json"] },
    { stage: "load", words: ["apply", ...load] },
    { stage: "verify", words: ["verify", ...to, ...seen] },
    { stage: "second apply", words: ["apply", ...load] },
    { stage: "check", words: ["check", ...to, ...from, ...cloud, "--watch", "0"] },
    { stage: "show", words: ["show", "run/plan"] },
    { stage: "status", words: ["status", ...run] },
    { stage: "report", words: ["report", ...run] },
    { stage: "rollback", words: ["rollback", ...load, "--all"] },
  ];
}
