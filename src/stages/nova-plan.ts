import { gather } from "../core/flavors/facts.ts";
import { type FlavorsAsked, judgeImages, planFlavors } from "../core/flavors/flavors.ts";
import { refuseUnknown } from "../core/flavors/named.ts";
import { judgeSchema, unreached } from "../core/flavors/places.ts";
import { type Choice, choiceOf } from "../core/hosts/choice.ts";
import { createGate, keptHosts } from "../core/hosts/gate.ts";
import { createHosts } from "../core/hosts/hosts.ts";
import { createSelection } from "../core/hosts/selection.ts";
import { compileSite } from "../core/transform/site.ts";
import type { Transformed } from "../core/transform/transform.ts";
import { releaseNames } from "../demo/load-tables.ts";
import type { Database } from "../edge/database/open.ts";
import type { PlanWriter } from "../edge/disk/plan-folder.ts";
import { readFlavorRows } from "../edge/nova-write/flavors.ts";
import { identifyNova } from "../edge/nova-write/open.ts";
import { openHosts } from "../edge/nova-write/read.ts";
import type { ServerIdentity, SnapshotHeader } from "../model/artefact.ts";
import { otherServer } from "../model/database.ts";
import { MigrationError } from "../model/error.ts";
import type { Finding } from "../model/finding.ts";
import type { Machine } from "../model/machine.ts";
import type { Site } from "../model/mapping.ts";
import type { NovaPlanCounts, NovaPlanHeader } from "../model/nova-plan.ts";
import type { MachineRows } from "../model/nova-rows.ts";
import type { PlannedMachine } from "../model/plan.ts";
import { openRole } from "./databases.ts";
import { type FlavorApi, withoutThose } from "./flavor-api.ts";
import { createNovaFiles, type NovaWriter } from "./nova-files.ts";

/** What the operator wants of Nova's own rows. */
export interface NovaAsked {
  /** As `--compute-host` has them. */
  readonly computeHosts: readonly string[];
  readonly flavors: Omit<FlavorsAsked, keyof NovaTraits>;
}

/** What Nova does with flavors on the target's release, and whether all its machines have one host. */
type NovaTraits = Pick<FlavorsAsked, "classes" | "copies"> & {
  readonly clustered: boolean;
};

/** Plans Nova's rows beside the machines, as these go by. */
export interface NovaPlanner {
  /** Begins the plan's files of Nova; comes first. */
  readonly begin: (plan: PlanWriter) => Promise<void>;
  /** Adds what Nova's rows say against machines. */
  readonly judge: (
    machines: readonly Machine[],
    made: readonly Transformed[],
  ) => Promise<readonly Transformed[]>;
  /** The lines of a machine that was judged in the last batch. */
  readonly add: (machine: Machine, line: PlannedMachine) => Promise<void>;
  /** What is known once all machines went by. */
  readonly end: () => Promise<readonly Finding[]>;
  /** What the plan says of Nova, when all is written. */
  readonly about: () => { readonly header: NovaPlanHeader; readonly counts: NovaPlanCounts };
  readonly close: () => Promise<void>;
}

/**
 * @param now ISO 8601, UTC
 * @param api where flavors are that are not nova's
 * @throws MigrationError N2I-E202 when it is not the nova database of the snapshot
 */
export async function planNova(
  database: Database,
  snapshot: SnapshotHeader,
  site: Site,
  asked: NovaAsked,
  traits: NovaTraits,
  now: string,
  api: FlavorApi | null = null,
): Promise<NovaPlanner> {
  const choice: Choice = choiceOf(asked.computeHosts);
  const target = await identifyNova(database);
  checkSource(snapshot, target, database.shown);
  const at = now.slice(0, 19).replace("T", " ");
  const reader = await openHosts(database, target);
  const decisions = compileSite(site);
  const hosts = createHosts(
    reader.world,
    choice,
    (machine) => decisions.of(machine).accept,
    createGate(traits.clustered, target),
    at,
  );
  const facts = gather();
  const selection = createSelection(choice);
  const header: NovaPlanHeader = {
    made_at: now,
    target,
    ...(api !== null && { api: api.identity }),
    compute_hosts: asked.computeHosts,
    asked: [
      ...asked.computeHosts.map((word) => `compute host ${word}`),
      `images of flavors: ${asked.flavors.images.do}`,
      ...(api === null ? [] : [`flavors of ${api.shown}`]),
    ],
  };
  let files: NovaWriter | null = null;
  const writer = (): NovaWriter => {
    if (files === null) throw new Error("Nova's files were not begun");
    return files;
  };
  let rows: ReadonlyMap<number, MachineRows> = new Map();
  return {
    async begin(plan) {
      files = await createNovaFiles(plan);
    },
    async judge(machines, made) {
      const asking = machines.map(({ node: { uuid, instance_uuid } }) => ({ uuid, instance_uuid }));
      const found = await reader.rows(asking);
      const of = (at: number): MachineRows => found[at] ?? NO_ROWS;
      rows = new Map(machines.map(({ node }, index) => [node.id, of(index)]));
      return made.map((one, index) => {
        const machine = machines[index];
        if (machine === undefined) return one;
        selection.see(machine, one);
        return hosts.judge(machine, one, of(index));
      });
    },
    async add(machine, line) {
      facts.add(machine, line);
      selection.add(line);
      await writer().write(hosts.steps(line, rows.get(machine.node.id) ?? NO_ROWS));
    },
    async end() {
      const selected = selection.end();
      const moved = hosts.end(await reader.use(hosts.left()));
      const { write, find } = writer();
      await write(moved.steps);
      const how = { ...asked.flavors, ...traits };
      const flavors = await readFlavorRows(database, reader.on);
      const others = (await api?.rows(flavors, database, reader.on)) ?? null;
      refuseUnknown(asked.flavors.named, others === null ? [flavors] : [flavors, others]);
      const own = others === null ? flavors : withoutThose(flavors, others);
      const planned =
        api?.identity.kind === "rest" ? unreached(own, facts) : planFlavors(own, facts, how, at);
      await write(planned.steps);
      const more = others === null ? null : planFlavors(others, facts, how, at);
      await write(more?.steps ?? []);
      const findings = [
        ...moved.findings,
        ...selected,
        ...planned.findings,
        ...(more?.findings ?? []),
        ...judgeImages(facts, how),
        ...judgeSchema(target.schema_version, api !== null, asked.computeHosts.length > 0),
      ];
      await find(findings);
      return findings;
    },
    about() {
      const { api: apart, ...inNova } = writer().counts();
      const counts = {
        ...{ ...inNova, ...(api !== null && { api: apart }) },
        stopped: hosts.stopped(),
      };
      return { header, counts };
    },
    close: reader.close,
  };
}

/** nova's database, to plan with; null when it is not given. */
export async function openBeside(spec: string | undefined): Promise<Database | null> {
  return spec === undefined ? null : openRole("nova-db", spec, { readOnly: true });
}

/**
 * Copies are read until Kilo, all machines have one host until Mitaka, resource classes came with Pike.
 *
 * @source facts/nova-bm.md 4.2, 5.3
 */
export function habitsOf(release: string): NovaTraits {
  const names = releaseNames();
  const at = names.indexOf(release);
  const until = (name: string): boolean => at <= names.indexOf(name);
  return { classes: !until("ocata"), copies: until("kilo"), clustered: until("mitaka") };
}

/** Judges machines by Nova's rows as the snapshot has them, when none of these is planned to change. */
export function judgeKept(
  release: string,
  site: Site,
  nova: ServerIdentity | null,
): (machine: Machine, made: Transformed) => Transformed {
  const decisions = compileSite(site);
  if (nova === null) return (_, made) => made;
  const gate = createGate(habitsOf(release).clustered, nova);
  return keptHosts(gate, (machine) => decisions.of(machine).accept);
}

const NO_ROWS: MachineRows = { instance: null, elsewhere: false, volumes: [], computes: [] };

function checkSource(
  { source }: SnapshotHeader,
  found: NovaPlanHeader["target"],
  shown: string,
): void {
  const { nova } = source;
  if (nova === null)
    throw new MigrationError("N2I-E202", "the snapshot was extracted without --nova-db", {
      fix: "Extract again with --nova-db, then plan.",
    });
  const [other] = otherServer(nova, found);
  if (other !== undefined)
    throw new MigrationError(
      "N2I-E202",
      `--nova-db ${shown} is not the nova database of the snapshot: ${other} was ${nova[other]}, is ${found[other]}`,
    );
}
