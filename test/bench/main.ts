import { binaries } from "../lab/binaries.ts";
import { startMariadb } from "../lab/mariadb.ts";
import { startPostgres } from "../lab/postgres.ts";
import { benchAdopt } from "./adopt.ts";
import { benchGrowth } from "./growth.ts";
import { benchPage } from "./page.ts";
import { benchPower } from "./power.ts";
import { report, verdicts } from "./report.ts";
import { type Round, round } from "./round.ts";
import { benchServe } from "./serve.ts";
import { benchStart } from "./start.ts";

const SIZES = [1_000, 10_000, 100_000];
const ENGINES = {
  mysql: { start: startMariadb, words: ["mysql", "mariadb"] },
  postgresql: { start: startPostgres, words: ["postgresql", "postgres"] },
} as const;

/**
 * `npm run bench`: the whole road at three sizes on both servers, against their own
 * dump-and-restore in the same run, 10,000 BMCs against ipmitool and ipmipower, and starts of the
 * program, the proxy, and the report's page. `npm run bench -- 1000 postgres`, `-- power`, `-- adopt`,
 * `-- serve`, `-- page`, `-- growth`, `-- growth whole` and `-- start` are parts of it;
 * `--profile=FOLDER` writes a CPU profile of every command. Exit status 1: a limit was MISSED.
 */
async function main(words: readonly string[]): Promise<void> {
  const sizes = words.filter((word) => /^\d+$/.test(word)).map(Number);
  const folder = words.find((word) => word.startsWith("--profile="))?.slice(10) ?? null;
  const named = words.filter((word) => /^[a-z]+$/.test(word));
  if (named.length === 0 || named.includes("start")) await benchStart(write);
  if (named.length === 0 || named.includes("power")) await benchPower(write);
  if (named.length === 0 || named.includes("adopt"))
    await benchAdopt(named.length === 0 ? 200 : (sizes[0] ?? 200), write);
  if (named.length === 0 || named.includes("serve")) await benchServe(write);
  if (named.length === 0 || named.includes("page"))
    await benchPage(named.length === 0 ? [] : sizes, write);
  if (named.length === 0 || named.includes("growth"))
    await growth(named.length === 0 || named.includes("whole"));
  for (const engine of ["mysql", "postgresql"] as const) {
    const { start, words: names } = ENGINES[engine];
    if (named.length > 0 && !names.some((name) => named.includes(name))) continue;
    if (binaries(engine) === null) continue;
    const server = await start("on disk");
    const rounds: Round[] = [];
    try {
      for (const size of sizes.length > 0 ? sizes : SIZES) {
        const done = await round(server, size, folder);
        rounds.push(done);
        write(`${report(done)}\n`);
      }
    } finally {
      await server.stop();
    }
    write(`${verdicts(rounds)}\n`);
    for (const done of rounds) process.stdout.write(`${JSON.stringify(done)}\n`);
  }
}

async function growth(whole: boolean): Promise<void> {
  await benchGrowth(null, write, whole);
  for (const engine of ["mysql", "postgresql"] as const) {
    if (binaries(engine) === null) continue;
    const server = await ENGINES[engine].start("in memory");
    await benchGrowth(server, write).finally(() => server.stop());
  }
}

function write(text: string): void {
  if (/^ *MISSED/m.test(text)) process.exitCode = 1;
  process.stdout.write(text);
}

await main(process.argv.slice(2));
