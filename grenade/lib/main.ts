import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { orMessage } from "../../src/lib/error.ts";
import { takeLock } from "../../src/lib/files/lock-file.ts";
import type { ServerEngine } from "../../test/lab/binaries.ts";
import { CLAIMS } from "../expect/index.ts";
import { about } from "./about.ts";
import { back } from "./back.ts";
import { judge, type Phase, type Verdict } from "./claim.ts";
import { type Base, type Deployment, deploy } from "./deployment.ts";
import { faults } from "./faults.ts";
import { forward } from "./forward.ts";
import { operate } from "./operate.ts";
import { plugin } from "./plugin.ts";
import { type Judged, memoryOf, report } from "./report.ts";
import type { By, ObservedState } from "./seen.ts";
import { keepSchemas } from "./stack.ts";
import { tempest } from "./tempest.ts";
import { clock, type Timing } from "./timing.ts";

const USAGE = `grenade/run [--by WAY,...] [--phase PHASE,...] [--all [--without PHASE,...]] [--db SERVER] [--machines N] [--hold] [--quiet]

  --by        rows (into Ironic's database), rename (rows, with another host and a staged hand-over),
              rest (Ironic's API)
  --phase     forward: over, and then what tenants do; back: over, and back from four moments;
              faults: each on the way over or back; plugin: forward by the scripts of devstack/upgrade/;
              tempest: forward, then Tempest there and on a fresh Ironic
  --all       every way forward, back, faults and plugin on one cloud, then Tempest on another
  --without   with --all: none of these phases
  --db        mariadb (the default) or postgresql: where every service and nova_bm have their databases
  --machines  machines of the deployment (60)
  --quiet     nothing but the result
  --hold      at the end, or when it fails: keep everything up until Ctrl-C
`;

/** What a phase does with a deployment. */
const PHASES: {
  readonly [phase: string]: ((deployment: Deployment) => Promise<void>) | undefined;
} = {
  forward: async (deployment) => {
    await forward(deployment);
    await operate(deployment, "forward");
  },
  back,
  faults,
  plugin,
  tempest,
};

/** What runs keep. */
const HOME = join(process.cwd(), "runs", "grenade");

/** One way through one phase, on the cloud that all of them share. */
interface Rehearsal {
  readonly by: By;
  readonly phase: Phase;
}

const ALL: readonly Rehearsal[] = [
  { by: "rows", phase: "forward" },
  { by: "rename", phase: "forward" },
  { by: "rest", phase: "forward" },
  { by: "rows", phase: "back" },
  { by: "rename", phase: "faults" },
  { by: "rows", phase: "plugin" },
  { by: "rows", phase: "tempest" },
];

/**
 * Tempest needs few machines for long, and starts a server right after it was stopped: Nova's power sync,
 * which goes by a list of nodes as old as the period, stops it again, so that there it comes as seldom as
 * an operator's does. Elsewhere what a service sees late is waited for. Seconds.
 */
const CLOUDS = [
  { cloud: "cloud with tenants", folder: "base", period: 10, powerSync: 5, has: not(isTempest) },
  {
    cloud: "cloud for Tempest",
    folder: "base-tempest",
    period: 60,
    powerSync: 600,
    has: isTempest,
  },
] as const;

const ENGINES: { readonly [db: string]: ServerEngine | undefined } = {
  mariadb: "mysql",
  postgresql: "postgresql",
};

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      by: { type: "string", default: "rows" },
      phase: { type: "string", default: "forward" },
      all: { type: "boolean", default: false },
      without: { type: "string" },
      db: { type: "string", default: "mariadb" },
      machines: { type: "string", default: "60" },
      hold: { type: "boolean", default: false },
      quiet: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  const asked = values.all
    ? without(values.without?.split(",") ?? [])
    : combined(values.by.split(","), values.phase.split(","));
  const engine = ENGINES[values.db];
  if (values.help || asked === null || engine === undefined) {
    process.stderr.write(USAGE);
    return values.help ? 0 : 64;
  }
  mkdirSync(HOME, { recursive: true, mode: 0o700 });
  // Another rehearsal here would delete the folders of this one.
  const locked = await orMessage(takeLock(join(HOME, "lock"), "grenade/run"), "N2I-E302");
  if (typeof locked === "string") {
    process.stderr.write(`${locked}\n`);
    return 1;
  }
  endOnSignals();
  const timing = clock({ quiet: values.quiet });
  const judged: Judged[] = [];
  let what: readonly string[] = [];
  for (const { cloud, folder, period, powerSync, has } of CLOUDS) {
    const here = asked.filter(has);
    if (here.length === 0) continue;
    const options = { machines: Number(values.machines), engine, period, powerSync };
    const base = await timing.of(cloud, () =>
      deploy(fresh(join(HOME, folder)), options, timing.tell),
    );
    for (const one of here) {
      const name = `${one.by} ${one.phase}${engine === "postgresql" ? " on PostgreSQL" : ""}`;
      judged.push(await timing.of(name, () => judgedOf(base, one, name, timing.tell)));
    }
    if (values.hold) await hold(HOME, timing.tell);
    what = await about(base.stack);
    await timing.of(`${cloud} ended`, base.stop);
    await timing.of("schemas kept for the next run", () => keepSchemas(engine));
  }
  return report(HOME, judged, timing.phases(), what);
}

function isTempest({ phase }: Rehearsal): boolean {
  return phase === "tempest";
}

function not<T>(is: (one: T) => boolean): (one: T) => boolean {
  return (one) => !is(one);
}

/** Everything but these phases; null where one of them is none. */
function without(phases: readonly string[]): readonly Rehearsal[] | null {
  if (!phases.every(isPhase)) return null;
  return ALL.filter(({ phase }) => !phases.includes(phase));
}

async function judgedOf(
  base: Base,
  one: Rehearsal,
  name: string,
  tell: Timing["tell"],
): Promise<Judged> {
  const folder = fresh(join(HOME, name.replaceAll(" ", "-")));
  const { seen, verdicts } = await rehearse(base, one, folder, tell);
  const red = verdicts.filter(({ result }) => result !== "holds");
  tell(`${name}: ${verdicts.length - red.length} of ${verdicts.length} claims hold`);
  for (const { name: claim, result } of red) tell(`${result}: ${claim}`);
  return { name, folder, verdicts, ...memoryOf(seen) };
}

function fresh(folder: string): string {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return folder;
}

function combined(ways: readonly string[], phases: readonly string[]): readonly Rehearsal[] | null {
  const all = ways.flatMap((by) =>
    phases.flatMap((phase) => (isBy(by) && isPhase(phase) ? [{ by, phase }] : [])),
  );
  return all.length === ways.length * phases.length ? all : null;
}

function isBy(text: string): text is By {
  return text === "rows" || text === "rename" || text === "rest";
}

function isPhase(text: string): text is Phase {
  return PHASES[text] !== undefined;
}

/** Daemons die with this process, and take their folders with them; a command is ended on exit. */
function endOnSignals(): void {
  for (const [signal, number] of [
    ["SIGHUP", 1],
    ["SIGINT", 2],
    ["SIGTERM", 15],
  ] as const)
    process.once(signal, () => process.exit(128 + number));
}

async function rehearse(
  base: Base,
  { by, phase }: Rehearsal,
  folder: string,
  tell: Timing["tell"],
): Promise<{ readonly seen: ObservedState; readonly verdicts: readonly Verdict[] }> {
  const deployment = await base.begin(by, folder);
  let broke: string | null = null;
  try {
    await PHASES[phase]?.(deployment);
  } catch (cause) {
    broke = cause instanceof Error ? (cause.stack ?? cause.message) : String(cause);
    tell(broke);
  }
  const seen = deployment.seen();
  writeFileSync(join(folder, "seen.json"), JSON.stringify(seen, null, 1));
  const claims = CLAIMS.filter(({ phases }) => phases.includes(phase));
  const verdicts = claims.map((claim) => judge(claim, seen));
  if (broke !== null || verdicts.some(({ result }) => result !== "holds"))
    deployment.observer.keepLogs(join(folder, "logs"));
  await deployment.stopCompute();
  const came: Verdict = {
    name: "the rehearsal came to its end",
    result: broke === null ? "holds" : "fails",
    why: broke === null ? [] : [broke],
  };
  return { seen, verdicts: [came, ...verdicts] };
}

/** Until somebody has looked. */
async function hold(folder: string, tell: Timing["tell"]): Promise<void> {
  const file = join(folder, "held");
  writeFileSync(file, "");
  tell(`held: remove ${file} to end`);
  while (existsSync(file)) await sleep(500);
}

process.exitCode = await main();
// Daemons' pipes may still be open.
process.exit();
