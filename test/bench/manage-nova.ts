import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { startNovaScene } from "../node/nova-scene.ts";
import { type Cost, command } from "./command.ts";

/** Times of a single machine that a batch may take. */
const LIMIT = 1.5;
const BATCH = 50;
/** Seconds between two looks of Nova's resource tracker, and of Nova and Ironic at power: as both ship them. */
const TRACKED = 60;
const POWER = { nova: 600, ironic: 60 } as const;
/** Seconds that the command looks at each machine in the end, unless told: two of Ironic's looks at power. */
const WATCHED = 120;

/** One machine that runs gets its server of a real Nova, then so many at once: all wait for one look of its tracker. */
export async function benchManageNova(
  sizes: readonly number[],
  write: (text: string) => void,
): Promise<void> {
  const [batch = BATCH] = sizes;
  write(
    `\nnode manage --nova, one machine and ${batch}; Nova's tracker looks every ${TRACKED} s\n`,
  );
  const ends: (() => unknown)[] = [];
  const folder = mkdtempSync(join(tmpdir(), "n2i-bench-manage-nova-"));
  const t = {
    after: (end?: unknown) => void ends.push(end as () => unknown), // a test's own, without its context
    diagnostic: (line: string) => write(`  ${line}\n`),
  };
  try {
    const at = await startNovaScene(t, {
      ...{ machines: 1 + batch, tracked: TRACKED, power: POWER },
      // As Neutron does unless it is told otherwise.
      workers: cpus().length,
    });
    const managed = async (names: readonly string[]): Promise<Cost> => {
      const file = join(folder, `${names.length}.csv`);
      writeFileSync(file, ["node,name", ...names.map((name) => `${name},web-${name}`)].join("\n"));
      const own = ["--run", join(folder, `run-${names.length}`), "--from", file, ...at.words];
      const words = ["--nova", "--flavor", "bm"];
      for (const [name, value] of Object.entries(at.env)) process.env[name] = value;
      return command(folder, ["node", "manage", ...own, ...words]);
    };
    const one = await managed(["n-0"]);
    const before = busy();
    const many = await managed(Array.from({ length: batch }, (_, index) => `n-${index + 1}`));
    const services = busy() - before - (many.cpu ?? 0);
    const times = many.seconds / one.seconds;
    const cores = cpus().length;
    const unwatched = (many.seconds - WATCHED) / (one.seconds - WATCHED);
    write(
      `  one machine ${one.seconds.toFixed(1)} s, ${batch} machines ${many.seconds.toFixed(1)} s, of both ${WATCHED} s to look at them afterwards; without: ${unwatched.toFixed(2)} times\n`,
    );
    write(
      `  the cloud took ${services.toFixed(0)} s of the processor for the ${batch}, on ${cores} cores at least ${(services / cores).toFixed(0)} s; nova2ironic ${many.cpu?.toFixed(1)} s\n`,
    );
    write(
      `  ${times <= LIMIT ? "held  " : "MISSED"} times of one machine: ${times.toFixed(2)}, limit ${LIMIT}\n`,
    );
    const told = at.told();
    write(`  BMCs were told ${told.length} words that switch a machine\n`);
  } finally {
    for (const end of ends.toReversed()) await end();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Seconds of all processors since the host was started, whoever had them. */
function busy(): number {
  const taken = cpus().map(({ times: { user, nice, sys, irq } }) => user + nice + sys + irq);
  return taken.reduce((sum, one) => sum + one, 0) / 1000;
}
