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
import { createArtefact } from "../edge/disk/artefact-writer.ts";
import type { RunFolder } from "../edge/disk/run-folder.ts";
import { readFlavorRows } from "../edge/nova-write/flavors.ts";
import { identifyNova } from "../edge/nova-write/open.ts";
import { openHosts } from "../edge/nova-write/read.ts";
import type { ServerIdentity, SnapshotHeader } from "../model/artefact.ts";
import { MigrationError } from "../model/error.ts";
import type { Finding } from "../model/finding.ts";
import type { Machine } from "../model/machine.ts";
import type { Site } from "../model/mapping.ts";
import type { NovaLine, NovaPlanCounts, NovaPlanHeader, NovaStep } from "../model/nova-plan.ts";
import type { MachineRows } from "../model/nova-rows.ts";
import type { PlannedMachine } from "../model/plan.ts";
import { otherServer } from "../model/same-server.ts";
import { openRole } from "./databases.ts";
import { type FlavorApi, withoutThose } from "./flavor-api.ts";
import { NOVA } from "./nova-file.ts";
import { VERSION } from "./version.ts";

/** What the operator wants of Nova's own rows. */
export interface NovaAsked {
  /** As `--compute-host` has them. */
  readonly computeHosts: readonly string[];
  readonly flavors: Omit<FlavorsAsked, keyof NovaHabits>;
}

/** What Nova does with flavors on the target's release, and whether all its machines have one host. */
export type NovaHabits = Pick<FlavorsAsked, "classes" | "copies"> & {
  readonly clustered: boolean;
};

/** Plans Nova's rows beside the machines, as these go by. */
export interface NovaPlanner {
  /** Adds what Nova's rows say against machines. */
  readonly judge: (
    machines: readonly Machine[],
    made: readonly Transformed[],
  ) => Promise<readonly Transformed[]>;
  /** The lines of a machine that was judged in the last batch. */
  readonly add: (machine: Machine, line: PlannedMachine) => Promise<void>;
  /** What is known once all machines went by. */
  readonly end: () => Promise<readonly Finding[]>;
  /** sha256 of the artefact, when all is in it. */
  readonly digest: () => Promise<string>;
  /** Puts the artefact in place, chained to its plan. */
  readonly finish: (plan: string) => Promise<NovaPlanCounts>;
  readonly abandon: () => Promise<void>;
}

/**
 * @param now ISO 8601, UTC
 * @param api where flavors are that are not nova's
 * @throws MigrationError N2I-E202 when it is not the nova database of the snapshot
 */
export async function planNova(
  run: RunFolder,
  database: Database,
  snapshot: { readonly header: SnapshotHeader; readonly sha256: string },
  site: Site,
  asked: NovaAsked,
  habits: NovaHabits,
  now: string,
  api: FlavorApi | null = null,
): Promise<NovaPlanner> {
  const choice: Choice = choiceOf(asked.computeHosts);
  const target = await identifyNova(database);
  checkSource(snapshot.header, target, database.shown);
  const at = now.slice(0, 19).replace("T", " ");
  const reader = await openHosts(database, target);
  const decisions = compileSite(site);
  const hosts = createHosts(
    reader.world,
    choice,
    (machine) => decisions.of(machine).accept,
    createGate(habits.clustered, target),
    at,
  );
  const facts = gather();
  const selection = createSelection(choice);
  const header: NovaPlanHeader = {
    format: "nova2ironic/nova@1",
    tool: VERSION,
    made_from: { snapshot: snapshot.sha256 },
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
  const writer = await createArtefact(run, NOVA, header);
  const counts = { hosts: 0, flavors: 0, api: 0, findings: 0 };
  let rows: ReadonlyMap<number, MachineRows> = new Map();
  const write = async (steps: readonly NovaStep[]): Promise<void> => {
    for (const step of steps) {
      counts[step.part] += 1;
      await writer.write(step satisfies NovaLine);
    }
  };
  return {
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
      await write(hosts.steps(line, rows.get(machine.node.id) ?? NO_ROWS));
    },
    async end() {
      const selected = selection.end();
      const moved = hosts.end(await reader.use(hosts.left()));
      await write(moved.steps);
      const how = { ...asked.flavors, ...habits };
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
      for (const finding of findings) await writer.write({ finding } satisfies NovaLine);
      counts.findings = findings.length;
      return findings;
    },
    digest: writer.digest,
    async finish(plan) {
      await reader.close();
      const { api: apart, ...inNova } = counts;
      const all = {
        ...{ plan, ...inNova, ...(api !== null && { api: apart }) },
        stopped: hosts.stopped(),
      };
      await writer.finish(all);
      return all;
    },
    async abandon() {
      await reader.close();
      await writer.abandon();
    },
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
export function habitsOf(release: string): NovaHabits {
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
