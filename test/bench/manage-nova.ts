import { writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import { type NovaScene, novaScene } from "../node/nova-scene.ts";
import { type Cost, command } from "./command.ts";
import { inFolder, judge, type Write, withEnds } from "./measure.ts";

/** Times of a single machine that a batch may take. */
const LIMIT = 1.5;
const BATCH = 50;
/** Seconds between two looks of Nova's resource tracker, and of Nova and Ironic at power: as both ship them. */
const TRACKED = 60;
const POWER = { nova: 600, ironic: 60 } as const;
/** The same for hosts that Nova does not know; as it ships, never: it is told. */
const DISCOVERS = 60;
/** Seconds that the command looks at each machine in the end, unless told: two of Ironic's looks at power. */
const WATCHED = 120;

/**
 * A real Nova makes a server of one running machine, then of many at once. All of them wait for the
 * same look of its resource tracker.
 */
export async function benchManageNova(sizes: readonly number[], write: Write): Promise<void> {
  const [batch = BATCH] = sizes;
  write(
    `\nnode manage --nova, one machine and ${batch}; Nova's tracker looks every ${TRACKED} s\n`,
  );
  const { one, many, services, told } = await inScene(1 + batch, write, (at) => managed(at, batch));
  const times = many.seconds / one.seconds;
  const cores = cpus().length;
  write(
    `  one machine ${one.seconds.toFixed(1)} s, ${batch} machines ${many.seconds.toFixed(1)} s, of both ${WATCHED} s to look at them afterwards\n`,
  );
  write(
    `  the cloud took ${services.toFixed(0)} s of the processor for the ${batch}, on ${cores} cores at least ${(services / cores).toFixed(0)} s; nova2ironic ${many.cpu?.toFixed(1)} s\n`,
  );
  judge(write, "times of one machine:", times, LIMIT);
  write(`  BMCs were told ${told} words that switch a machine\n`);
}

interface Managed {
  readonly one: Cost;
  readonly many: Cost;
  /** Seconds of the processor that everything but the command took for the batch. */
  readonly services: number;
  /** Words to BMCs. */
  readonly told: number;
}

function managed(at: NovaScene, batch: number): Promise<Managed> {
  return inFolder(async (folder) => {
    const manage = async (names: readonly string[]): Promise<Cost> => {
      const file = join(folder, `${names.length}.csv`);
      writeFileSync(file, ["node,name", ...names.map((name) => `${name},web-${name}`)].join("\n"));
      const own = ["--run", join(folder, `run-${names.length}`), "--from", file, ...at.words];
      for (const [name, value] of Object.entries(at.env)) process.env[name] = value;
      return command(folder, ["node", "manage", ...own, "--nova", "--flavor", "bm"]);
    };
    const one = await manage(["n-0"]);
    const before = busy();
    const many = await manage(Array.from({ length: batch }, (_, index) => `n-${index + 1}`));
    const services = busy() - before - (many.cpu ?? 0);
    return { one, many, services, told: at.told().length };
  });
}

/** A cloud of its own, which ends with the work. */
function inScene<T>(
  machines: number,
  write: Write,
  work: (at: NovaScene) => Promise<T>,
): Promise<T> {
  return withEnds(async ({ after }) => {
    const t = { after, diagnostic: (line: string) => write(`  ${line}\n`) };
    return work(
      await novaScene(t, {
        ...{ machines, tracked: TRACKED, power: POWER, nova: { discovers: DISCOVERS } },
        // As Neutron does unless it is told otherwise.
        workers: cpus().length,
      }),
    );
  });
}

/** Seconds of all processors since the host was started, whoever had them. */
function busy(): number {
  const taken = cpus().map(({ times: { user, nice, sys, irq } }) => user + nice + sys + irq);
  return taken.reduce((sum, one) => sum + one, 0) / 1000;
}
