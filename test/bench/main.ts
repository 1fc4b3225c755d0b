import { parseArgs } from "node:util";
import type { Server } from "../lab/server.ts";
import { startMariadb, startPostgres } from "../lab/start.ts";
import { benchCounted } from "./counted.ts";
import { benchGrowth } from "./growth.ts";
import { benchNight } from "./night.ts";
import { HEAD, report, round } from "./round.ts";
import { benchStart } from "./start.ts";
import { benchWindow, type WindowAsked } from "./window.ts";

const HELP = `npm run bench -- [PART ...] [ENGINE ...] [MACHINES ...] [nova|bare] [--profile FOLDER]

Without a word: the road at 10,000 and 100,000 machines on MariaDB, PostgreSQL and SQLite, with Nova
(a fifth of the machines has an instance) and without; a quarter of an hour on two quiet cores. On
servers that sync every commit.

  road      every command of the road and back, against the engine's own dump-and-restore
  growth    that a machine of a larger fleet takes no more, nor what a night leaves behind
  start     starts of the program, in starts of bare Node
  window    a night on a real Ironic with BMCs, 40 machines or as many as are asked; minutes. Its own options:
            --conductors N, --silent PERCENT, --kill SECOND, and of [conductor] --sync_local_state_interval and so on

  mariadb, postgresql, sqlite    these engines alone
  1000, 10000, ...               these sizes alone: npm run bench -- sqlite 1000 nova  takes seconds
  nova, bare                     with Nova alone, or without it alone
  --profile FOLDER               a CPU profile of every command of the road

Exit status 1: a limit was MISSED.
`;

const OF_CONDUCTOR = [
  ...["periodic_max_workers", "workers_pool_size", "sync_local_state_interval"],
  ...["sync_power_state_interval", "sync_power_state_workers"],
];
const OF_WINDOW = [...OF_CONDUCTOR, "conductors", "silent", "kill"];
const SIZES = [10_000, 100_000];

/** What an engine is called on the command line, and how it is started; SQLite is in the process. */
const ENGINES = [
  { names: ["mariadb", "mysql"], engine: "mysql", start: startMariadb },
  { names: ["postgresql", "postgres"], engine: "postgresql", start: startPostgres },
  { names: ["sqlite"], engine: null, start: null },
] as const;

const PARTS = {
  road,
  growth: benchGrowths,
  start: () => benchStart(write),
  window: ({ sizes, window }: Queried) =>
    benchWindow({ ...window, machines: sizes[0] ?? 40 }, write),
} as const;

interface Queried {
  readonly sizes: readonly number[];
  readonly engines: readonly (typeof ENGINES)[number][];
  readonly novas: readonly boolean[];
  readonly profile: string | null;
  readonly window: Omit<WindowAsked, "machines">;
}

async function main(argv: string[]): Promise<void> {
  const { values, positionals: words } = parseArgs({
    args: argv,
    allowPositionals: true,
    options: {
      help: { type: "boolean", short: "h" },
      profile: { type: "string" },
      ...Object.fromEntries(OF_WINDOW.map((name) => [name, { type: "string" }] as const)),
    },
  });
  if (values.help === true) return void process.stdout.write(HELP);
  const engines = ENGINES.filter(({ names }) => names.some((name) => words.includes(name)));
  const known = [...Object.keys(PARTS), ...ENGINES.flatMap(({ names }) => names), "nova", "bare"];
  const wrong = words.find((word) => !/^\d+$/.test(word) && !known.includes(word));
  if (wrong !== undefined) throw new Error(`${wrong} is no word of the bench: --help`);
  const asked: Queried = {
    sizes: words.filter((word) => /^\d+$/.test(word)).map(Number),
    engines: engines.length > 0 ? engines : ENGINES,
    novas: [true, false].filter((nova) => !words.includes(nova ? "bare" : "nova")),
    profile: values.profile ?? null,
    window: windowOf(values),
  };
  // Object.keys knows no better than string.
  const parts = (Object.keys(PARTS) as (keyof typeof PARTS)[]).filter((part) =>
    words.includes(part),
  );
  for (const part of parts.length > 0 ? parts : (["road"] as const)) await PARTS[part](asked);
}

function windowOf(given: { readonly [name: string]: unknown }): Queried["window"] {
  const number = (name: string, usual: number): number => Number(given[name] ?? usual);
  return {
    conductor: Object.fromEntries(
      OF_CONDUCTOR.flatMap((name) => (name in given ? [[name, number(name, 0)]] : [])),
    ),
    conductors: number("conductors", 1),
    silent: number("silent", 0),
    kill: given.kill === undefined ? null : number("kill", 0),
  };
}

async function road({ sizes, engines, novas, profile }: Queried): Promise<void> {
  for (const one of engines)
    await onServer(one, "on disk", async (server) => {
      for (const nova of novas) {
        for (const size of sizes.length > 0 ? sizes : SIZES) {
          const tell = (line: string): void => void process.stderr.write(`${line}\n`);
          tell(`${one.names[0]}, ${size} machines${nova ? " with Nova" : ""}\n${HEAD}`);
          write(report(await round(server, size, { nova, profile }, tell)));
        }
      }
    });
}

/** Servers one after the other, and beside them SQLite, whose counts and memory no other work changes. */
async function benchGrowths({ engines }: Queried): Promise<void> {
  const inProcess = async (): Promise<void> => {
    if (engines.every(({ engine }) => engine !== null)) return;
    write(await benchCounted());
    write(await benchNight());
  };
  const onServers = async (): Promise<void> => {
    for (const one of engines)
      await onServer(one, "in memory", async (server) => {
        if (server !== null) write(await benchGrowth(server));
      });
  };
  await Promise.all([inProcess(), onServers()]);
}

async function onServer(
  { engine, start }: (typeof ENGINES)[number],
  kept: "on disk" | "in memory",
  work: (server: Server | null) => Promise<void>,
): Promise<void> {
  if (engine === null) return work(null);
  const server = await start(kept);
  await work(server).finally(() => server.stop());
}

function write(text: string): void {
  if (/^ *MISSED/m.test(text)) process.exitCode = 1;
  process.stdout.write(text);
}

await main(process.argv.slice(2));
