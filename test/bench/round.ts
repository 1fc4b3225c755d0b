import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Server } from "../lab/server.ts";
import { type Cost, command, type Stages } from "./command.ts";
import { dumpAndRestore } from "./peer.ts";
import { NAMES, prepare } from "./road.ts";

export interface Row extends Cost {
  readonly stage: string;
}

/** One fleet on one engine: what everything cost. */
export interface Round {
  readonly engine: string;
  readonly machines: number;
  readonly rows: readonly Row[];
  /** Seconds of dump-and-restore of Ironic's nodes and ports: what the ratios divide by. */
  readonly peer: number;
  /** Seconds of the load alone, without the verification that follows it in the same command. */
  readonly load: number;
  /** Seconds of extract, plan and apply with its verification. */
  readonly road: number;
  /** MiB, of the greediest stage. */
  readonly rss: number;
}

/** Options that make another command of one. */
const PARTS: ReadonlySet<string> = new Set(["--drop", "--restore"]);

/**
 * Makes the fleet, carries it over with the real program, command by command, and measures the
 * servers' own dump-and-restore of the same tables on the same server.
 *
 * @param profile folder for CPU profiles of every stage, or null
 */
export async function round(
  server: Server,
  machines: number,
  profile: string | null,
): Promise<Round> {
  const folder = mkdtempSync(join(tmpdir(), "n2i-bench-"));
  const made: string[] = [];
  const rows: Row[] = [];
  const measure = async (stage: string, work: () => Promise<Cost>): Promise<Cost> => {
    const cost = await work();
    rows.push({ stage, ...cost });
    return cost;
  };
  const run = async (...words: readonly string[]): Promise<Cost & { readonly stages: Stages }> => {
    const dir = `${profile}/${server.engine}-${machines}-${words[0]}`;
    const flags = profile === null ? [] : ["--cpu-prof", `--cpu-prof-dir=${dir}`];
    const cost = await command(folder, words, flags);
    rows.push({ stage: [words[0], ...words.filter((word) => PARTS.has(word))].join(" "), ...cost });
    return cost;
  };
  try {
    for (const name of NAMES) {
      await server.newDatabase(`bench_${name}`);
      made.push(`bench_${name}`);
    }
    const place = (name: string) => ({ ...server, database: `bench_${name}` });
    const url = (name: string) => server.url(`bench_${name}`);
    const { nova_bm: bm, nova, ironic } = await prepare(folder, machines, place, url);
    const at = ["--run", "run"];
    const to = ["--ironic-db", ironic];
    const sources = ["--nova-bm-db", bm, "--nova-db", nova, "--nova-conf", "nova.conf"];
    const extract = await run("extract", ...at, ...sources);
    const plan = await run("plan", ...at, ...to, "--site", "site.json");
    const apply = await run("apply", ...at, ...to, "--leave-nova", "--yes");
    const load = apply.seconds - (apply.stages.verify ?? 0);
    rows.push({ stage: "  of which load", seconds: load, cpu: null, rss: null });
    await run("verify", ...at, ...to);
    await run("show", "run/plan");
    await run("status", ...at);
    await run("check", ...at, ...to, "--nova-bm-db", bm, "--nova-db", nova, "--watch", "0");
    await run("--version");
    // Ironic's other tables are empty, but foreign keys name some: the databases are copied whole.
    const copy = (database: string, ...tables: readonly string[]): Promise<Cost> =>
      measure(`${server.engine === "mysql" ? "dump | restore" : "COPY"} ${database}`, () =>
        dumpAndRestore(server, folder, `bench_${database}`, tables),
      );
    const peer = await copy("ironic", "nodes", "ports");
    await copy("nova_bm", "bm_nodes", "bm_interfaces");
    await run("finish", ...at, ...to, "--yes");
    const from = ["--nova-bm-db", bm, "--without", "nova-db"];
    await run("retire", ...at, ...from, ...to, "--grace", "0", "--yes");
    await run("retire", ...at, ...from, "--drop", "--yes-drop", "bench_nova_bm");
    await run("retire", ...at, "--restore", bm, "--yes");
    const back = [...at, ...to, "--leave-nova", "--all", "--after-finish", "--yes"];
    await run("rollback", ...back);
    return {
      engine: server.engine,
      machines,
      rows,
      peer: peer.seconds,
      load,
      road: extract.seconds + plan.seconds + apply.seconds,
      rss: Math.max(...rows.map(({ rss }) => rss ?? 0)),
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
    for (const name of made) await server.dropDatabase(name);
  }
}
