import type { Server } from "../lab/server.ts";
import { type Cost, command } from "./command.ts";
import { type Peer, peer } from "./peer.ts";
import { type Step, steps, withGround } from "./road.ts";
import { lineOf } from "./table.ts";

interface Row extends Cost {
  readonly stage: string;
}

/** One fleet on one engine: what everything cost. */
export interface Round {
  readonly engine: string;
  readonly machines: number;
  readonly instances: number | null;
  readonly rows: readonly Row[];
  /** What the engine's own tools take for the same rows; the ratios divide by it. */
  readonly peer: Peer;
}

/** Of so many machines one is in use, as in a fleet of 100,000 with 20,000 instances. */
const SHARE = 5;

const NOVA_STAGES: readonly string[] = ["plan", "load", "verify", "second apply", "rollback"];

interface Queried {
  readonly nova: boolean;
  readonly profile: string | null;
}

/**
 * Makes the fleet, carries it over with the real program, command by command, and measures the engine's own
 * dump-and-restore of the same tables.
 * @param server null: SQLite
 * @param tell is told what each command took as soon as it has ended: all of them take an hour
 */
export function round(
  server: Server | null,
  machines: number,
  { nova, profile }: Queried,
  tell: (line: string) => void,
): Promise<Round> {
  return withGround(server, { machines, share: SHARE }, async (ground) => {
    const { engine, folder } = ground;
    const rows: Row[] = [];
    let found: Peer | null = null;
    const run = async ({ stage, words }: Step): Promise<void> => {
      const dir = `${profile}/${engine}-${machines}-${stage.replaceAll(" ", "-")}`;
      const flags = profile === null ? [] : ["--cpu-prof", `--cpu-prof-dir=${dir}`];
      const { begun, ended: _, ...cost } = await command(folder, words, { flags, server });
      const row = { stage, ...cost, ...(stage.startsWith("load") && begun.verify) };
      rows.push(row);
      tell(lineOf(row, machines, null));
    };
    for (const step of steps(ground, nova ? "read" : "left")) {
      // What was loaded is copied before it is taken back.
      if (step.stage === "rollback") found = await peer(ground);
      await run(step);
    }
    // The same once more, with what it does to Nova's rows.
    for (const { stage, words } of nova ? steps(ground, "changed") : [])
      if (NOVA_STAGES.includes(stage)) await run({ stage: `${stage}, Nova's rows too`, words });
    const instances = nova ? Math.floor(machines / SHARE) : null;
    if (found === null) throw new Error("the road has a rollback");
    return { engine, machines, instances, rows, peer: found };
  });
}
