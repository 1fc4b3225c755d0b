import { counted, createSeveral, listed, NAMES } from "../lib/text.ts";
import {
  cloudOfOptions,
  type ManageClients,
  openManageClients,
  servicesOf,
} from "../migrate/open/services.ts";
import type { AdoptableRow, ExistingNics, RunningNode } from "../model/ironic/manage.ts";
import type { RestOptions } from "../run/cloud.ts";
import { closing, type Keep, openRole } from "../run/databases.ts";
import type { Sink } from "../run/sink.ts";
import { readNics, runningNodes } from "../systems/ironic-api/running.ts";
import { openRunning } from "../systems/ironic-db/running.ts";
import { type PortFacts, rejectionReasons } from "./rules/criteria.ts";

interface AdoptableOptions extends RestOptions {
  /** Replaces Ironic's API. The cloud login is then only for Neutron. */
  readonly ironicDb?: string;
  readonly all: boolean;
}

/**
 * Lists active machines without a server record. Makes four listings regardless of the fleet:
 * ports, portgroups, Neutron's ports if VIFs exist, and nodes.
 *
 * @param show receives the rows while they are read
 * @throws MigrationError N2I-E106, N2I-E202, N2I-E208 to N2I-E212
 */
export function listAdoptable(
  options: AdoptableOptions,
  { report, note }: Pick<Sink, "report" | "note">,
  show: (rows: AsyncIterable<AdoptableRow>) => Promise<void>,
): Promise<void> {
  return closing(async (keep) => {
    const { pendingFacts, listing } = await sourceOf(options, keep, report);
    const portFacts = await pendingFacts;
    const troubled = createSeveral();
    let count = 0;
    async function* rows(): AsyncGenerator<AdoptableRow> {
      for await (const page of listing)
        for (const node of page) {
          const row = { node, reasons: rejectionReasons(node, portFacts) };
          if (row.reasons.length > 0 && !options.all) continue;
          if (row.reasons.length === 0 && node.last_error !== null)
            troubled.add(node.name ?? node.uuid);
          count += 1;
          yield row;
        }
    }
    await show(rows());
    if (count === 0)
      note(
        `0 machines.${options.ironicDb === undefined ? " A project's login sees only the nodes of that project." : ""}${options.all ? "" : " --all also lists excluded machines, with the reasons."}`,
      );
    if (troubled.length > 0)
      note(
        `${counted(troubled.length, "machine has", "machines have")} a last error in Ironic: ${listed(troubled, NAMES)}. Check it before you manage them.`,
      );
  });
}

/** Neutron's ports for the VIFs. Neutron is not called without VIFs. */
export async function portsOfVifs(
  nics: Promise<ExistingNics>,
  network: ManageClients["network"],
): Promise<PortFacts> {
  const { vifs, duplicates } = await nics;
  const neutron = vifs.size === 0 ? null : await network();
  return { ports: neutron === null ? null : await neutron.ports(vifs), duplicates };
}

async function sourceOf(options: AdoptableOptions, keep: Keep, report: (text: string) => void) {
  if (options.ironicDb !== undefined) return rowsOf(options, options.ironicDb, keep, report);
  const { service, network } = await openManageClients(options, keep, report);
  const nics = readNics(service);
  const pendingFacts = portsOfVifs(nics, network);
  return { pendingFacts, listing: runningNodes(service, nics, pendingFacts, options) };
}

/** @throws MigrationError N2I-E101, N2I-E102, N2I-E200 to N2I-E204 */
async function rowsOf(
  options: AdoptableOptions,
  ironicDb: string,
  keep: Keep,
  report: (text: string) => void,
) {
  const { cloud, limit } = cloudOfOptions(options, report);
  const { network } = servicesOf(cloud, limit, keep);
  const database = keep(await openRole("ironic-db", ironicDb, { readOnly: true }));
  const rows = await openRunning(database);
  const nics = rows.nics();
  async function* listing(): AsyncGenerator<readonly RunningNode[]> {
    yield* rows.nodes((await nics).of, options);
  }
  return { pendingFacts: portsOfVifs(nics, network), listing: listing() };
}
