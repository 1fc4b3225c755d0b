import { type Case, caseMac, caseUuid } from "../cases/case.ts";
import { writeCase } from "../cases/write-case.ts";
import { SITE, tenant } from "../hostile/fleet.ts";
import { alone } from "../lab/ironic/alone.ts";
import { type IronicServer, startIronic } from "../lab/ironic/start.ts";
import { startMariadb } from "../lab/mariadb.ts";
import type { Server } from "../lab/server.ts";
import { bareLoop } from "./bare-loop.ts";
import { command } from "./command.ts";
import { inFolder, middle, timed, type Write, withEnds } from "./measure.ts";

/** Of the rate of the bare loop at its best setting. */
const LIMIT = 0.9;
const PARALLEL = [4, 8, 16];
/** How often each is measured: one run says little on a machine with other work. */
const TURNS = 3;
const IN_FLIGHT = 8;

const accept = ["N2I-D403", "N2I-D604", "N2I-D605"].map((finding) => ({
  finding,
  reason: "bench",
}));

/** Everything of it fake: what is measured is API, conductor and tool. */
const FAKE = { driver: "fake-hardware", boot_interface: "fake", deploy_interface: "fake" };

function fleet(machines: number): Case {
  const ids = Array.from({ length: machines }, (_, at) => at + 1);
  return {
    shows: "machines to adopt",
    nova_bm: { nodes: ids.map((id) => tenant(id)) },
    nova_conf: {
      "*": {
        flavor_extra_specs: "cpu_arch:x86_64",
        power_manager: "nova.virt.baremetal.fake.FakePowerManager",
      },
    },
    site: {
      ...SITE,
      machines: [...SITE.machines, { match: {}, set: FAKE, accept }],
    },
    allow_pairing: true,
  };
}

/**
 * Adoption against a bare loop of the same calls, on one server, in turns: other work on the
 * machine then meets both.
 */
export async function benchAdopt(machines: number, write: Write): Promise<void> {
  await withEnds(async (t) => {
    const server = await startMariadb("on disk");
    t.after(server.stop);
    const ironic = await startIronic(server);
    t.after(ironic.stop);
    await inFolder((folder) => against(ironic, server, folder, machines, write));
  });
}

async function against(
  ironic: IronicServer,
  server: Server,
  folder: string,
  machines: number,
  write: Write,
): Promise<void> {
  const written = await writeCase(fleet(machines), folder);
  const run = async (...words: readonly string[]) => command(folder, [...words, "--run", "run"]);
  const at = ["--ironic-url", ironic.url];
  await run("extract", ...written.extract);
  await run("plan", ...at, ...written.plan, "--without", "nova-db");
  const rows = Array.from({ length: machines }, (_, n) => ({
    uuid: caseUuid("node", n + 1),
    instance_uuid: caseUuid("instance", n + 1),
    address: caseMac(n + 1, 0),
  }));
  const bare = new Map(PARALLEL.map((parallel) => [parallel, [] as number[]]));
  const ours: number[] = [];
  write(`adopt: ${machines} machines on fake-hardware, machines a second\n`);
  for (let turn = 0; turn < TURNS; turn += 1) {
    for (const [parallel, rates] of bare) {
      rates.push(machines / (await timed(() => bareLoop(ironic.url, rows, parallel))));
      await empty(ironic, server);
      write(`  bare loop, ${String(parallel).padStart(2)} at once  ${rate(rates)}\n`);
    }
    const { begun, ended } = await run(
      "apply",
      ...at,
      "--leave-nova",
      "--yes",
      "--in-flight",
      String(IN_FLIGHT),
    );
    const took = (ended.apply?.seconds ?? Number.NaN) - (begun.apply?.seconds ?? 0);
    ours.push(machines / took);
    await run("rollback", ...at, "--leave-nova", "--yes", "--all");
    await empty(ironic, server);
    write(`  apply, ${IN_FLIGHT} in flight       ${rate(ours)}\n`);
  }
  const ratio = middle(ours) / Math.max(...[...bare.values()].map(middle));
  write(
    `  ${ratio >= LIMIT ? "held  " : "MISSED"} ${ratio.toFixed(2)} of the bare loop at its best setting (medians of ${TURNS}), limit ${LIMIT}\n`,
  );
}

function rate(rates: readonly number[]): string {
  return (rates.at(-1) ?? 0).toFixed(2).padStart(8);
}

async function empty(ironic: IronicServer, server: Server): Promise<void> {
  const end = await alone(ironic, server);
  await end();
}
