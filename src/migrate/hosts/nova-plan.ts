import { MigrationError } from "../../lib/error.ts";
import type { ServerIdentity, SnapshotHeader } from "../../model/artefact.ts";
import { otherServer } from "../../model/database.ts";
import type { Finding } from "../../model/findings.ts";
import type { Machine } from "../../model/machine.ts";
import type { NovaPlanCounts, NovaPlanHeader } from "../../model/nova/nova-plan.ts";
import type { MachineRows } from "../../model/nova/nova-rows.ts";
import type { PlannedMachine } from "../../model/plan.ts";
import { releaseNames } from "../../run/files/load-tables.ts";
import type { PlanWriter } from "../../run/files/plan-folder.ts";
import type { Database } from "../../systems/database/open.ts";
import { readFlavorRows } from "../../systems/nova-db/flavors.ts";
import { openHosts } from "../../systems/nova-db/machines.ts";
import { identifyNova } from "../../systems/nova-db/plan-open.ts";
import type { FlavorApi } from "../flavors/flavor-api.ts";
import { gather } from "../flavors/rules/facts.ts";
import {
  type FlavorsRequest,
  judgeImages,
  judgeSchema,
  planFlavors,
  refuseUnknown,
} from "../flavors/rules/flavors.ts";
import type { Transformed } from "../transform/transform.ts";
import { createNovaFiles } from "./nova-files.ts";
import { choiceOf, createSelection } from "./rules/choice.ts";
import { createGate, type HostGate } from "./rules/gate.ts";
import { createHosts } from "./rules/hosts.ts";

export interface NovaRequest {
  readonly computeHosts: readonly string[];
  readonly flavors: Omit<FlavorsRequest, keyof NovaTraits>;
}

/** How Nova uses flavors on the target's release, and whether all its machines have one host. */
type NovaTraits = Pick<FlavorsRequest, "classes" | "copies"> & { readonly clustered: boolean };

/**
 * @param sources nova, and the database of flavors that are not in nova
 * @throws MigrationError N2I-E202 if it is not the nova database of the snapshot
 */
export async function planNova(
  { database, api }: { readonly database: Database; readonly api: FlavorApi | null },
  snapshot: SnapshotHeader,
  request: NovaRequest,
  moment: { readonly release: string; readonly now: string },
) {
  const { computeHosts } = request;
  const choice = choiceOf(computeHosts);
  const target = await identifyNova(database);
  checkSource(snapshot, target, database.label);
  const how = { ...request.flavors, ...traitsOf(moment.release) };
  const at = moment.now.slice(0, 19).replace("T", " ");
  const reader = await openHosts(database, target);
  const gate = createGate(how.clustered, target);
  const hosts = createHosts(reader.tables, choice, gate, at);
  const facts = gather();
  const selection = createSelection(choice);
  let rows: ReadonlyMap<number, MachineRows> = new Map();
  return {
    async judge(
      machines: readonly Machine[],
      made: readonly Transformed[],
    ): Promise<readonly Transformed[]> {
      const found = await reader.rows(machines.map(({ node }) => node));
      rows = new Map(machines.map(({ node }, index) => [node.id, found[index] ?? NO_ROWS]));
      return made.map((one, index) => {
        const machine = machines[index];
        if (machine === undefined) return one;
        selection.see(machine, one);
        return hosts.judge(machine, one, found[index] ?? NO_ROWS);
      });
    },
    async begin(plan: PlanWriter) {
      const files = await createNovaFiles(plan);
      return {
        /** Adds the lines of a machine that was judged in the last batch. */
        async add(machine: Machine, line: PlannedMachine): Promise<void> {
          facts.add(machine, line);
          selection.add(line);
          await files.write(hosts.steps(line, rows.get(machine.node.id) ?? NO_ROWS));
        },
        async end(): Promise<readonly Finding[]> {
          const selected = selection.end();
          const moved = hosts.end(await reader.use(hosts.sources()));
          const flavors = await flavorSteps(reader.database, api, facts, how, at);
          await files.write([...moved.steps, ...flavors.steps]);
          const schema = judgeSchema(target.schema_version, api !== null, computeHosts.length > 0);
          const findings = [...moved.findings, ...selected, ...flavors.findings, ...schema];
          await files.find(findings);
          return findings;
        },
        /** Nova's part of the manifest. Call it after the last write. */
        about(): { readonly header: NovaPlanHeader; readonly counts: NovaPlanCounts } {
          const { api: apart, ...inNova } = files.counts();
          const asked = [
            ...computeHosts.map((value) => `compute host ${value}`),
            `images of flavors: ${request.flavors.images.do}`,
            ...(api === null ? [] : [`flavors of ${api.label}`]),
          ];
          const [header, counts] = [
            { made_at: moment.now, target, ...(api !== null && { api: api.identity }) },
            { ...inNova, ...(api !== null && { api: apart }) },
          ];
          return {
            header: { ...header, compute_hosts: computeHosts, asked },
            counts: { ...counts, stopped: hosts.stopped() },
          };
        },
      };
    },
    close: reader.close,
  };
}

/** Steps on flavors, first those in nova. The databases are in a transaction. */
async function flavorSteps(
  database: Database,
  api: FlavorApi | null,
  facts: ReturnType<typeof gather>,
  how: FlavorsRequest,
  at: string,
) {
  const flavors = await readFlavorRows(database);
  const inApi = api === null ? [] : [await api.rows(flavors.hosts)];
  refuseUnknown(how.selected, [flavors, ...inApi]);
  // Nova reads nova_api first.
  const present = new Set(inApi.flatMap((rows) => rows.flavors.map(({ id }) => id)));
  const remaining = { ...flavors, flavors: flavors.flavors.filter(({ id }) => !present.has(id)) };
  const planned = [remaining, ...inApi].map((some) => planFlavors(some, facts, how, at));
  return {
    steps: planned.flatMap(({ steps }) => steps),
    findings: [...planned.flatMap(({ findings }) => findings), ...judgeImages(facts, how)],
  };
}

/**
 * Flavor copies until Kilo, one host until Mitaka, classes since Pike. @source facts/nova-bm.md
 * 4.2, 5.3
 */
function traitsOf(release: string): NovaTraits {
  const names = releaseNames();
  const at = names.indexOf(release);
  const until = (name: string): boolean => at <= names.indexOf(name);
  return { classes: !until("ocata"), copies: until("kilo"), clustered: until("mitaka") };
}

/** Compares the instances of a plan that does not change Nova. Null without nova in the snapshot. */
export function unchangedGate(release: string, nova: ServerIdentity | null): HostGate | null {
  return nova && createGate(traitsOf(release).clustered, nova);
}

const NO_ROWS: MachineRows = { instance: null, elsewhere: false, volumes: [], computes: [] };

function checkSource(
  { source }: SnapshotHeader,
  found: NovaPlanHeader["target"],
  label: string,
): void {
  const { nova } = source;
  if (nova === null)
    throw new MigrationError("N2I-E202", "the snapshot was extracted without --nova-db", {
      fix: "Run extract again with --nova-db, then run plan.",
    });
  const [other] = otherServer(nova, found);
  if (other === undefined) return;
  const text = `--nova-db ${label} is not the nova database of the snapshot: ${other} was ${nova[other]}, is ${found[other]}`;
  throw new MigrationError("N2I-E202", text);
}
