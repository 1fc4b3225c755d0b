import { regroup } from "../../lib/streams.ts";
import type { MachinesHeader, PlanCounts, PlanHeader } from "../../model/artefact.ts";
import type { SameSecret } from "../../model/compare.ts";
import { blocks, type Finding } from "../../model/findings.ts";
import type { Release, Target } from "../../model/ironic/target.ts";
import type { Machine } from "../../model/machine.ts";
import type { Site } from "../../model/mapping.ts";
import { MACHINES } from "../../model/nova/nova-plan.ts";
import type { PlannedMachine, Verdict } from "../../model/plan.ts";
import type { ConductorIpmitool } from "../../model/power.ts";
import { failpoint } from "../../run/failpoint.ts";
import { createPlan } from "../../run/files/plan-folder.ts";
import type { RunFolder } from "../../run/files/run-folder.ts";
import type { openSnapshot } from "../../run/run.ts";
import { VERSION } from "../../run/version.ts";
import { type planNova, unchangedGate } from "../hosts/nova-plan.ts";
import { judgeUnchanged } from "../hosts/rules/gate.ts";
import type { Mappings } from "../open/documents.ts";
import type { powerOf } from "../power/power-file.ts";
import { createTransform, type Transformed } from "../transform/transform.ts";
import { carry } from "./rules/carry.ts";
import { pair } from "./rules/pairing.ts";
import { claimsOf, type Index, indexCurrent, planMachine } from "./rules/plan-machine.ts";
import { inspectCharset, preflight } from "./rules/preflight.ts";

/** Machines per query of Ironic and Nova. */
const QUERY_SIZE = 512;
const EMPTY: Index = indexCurrent({ nodes: [], ports: [] });

interface Sources {
  readonly snapshot: Awaited<ReturnType<typeof openSnapshot>>;
  readonly mappings: Mappings;
  readonly site: { readonly site: Site; readonly sha256: string | null };
  readonly power: Awaited<ReturnType<typeof powerOf>> | null;
  /** Exceptions that the operator allows. The plan records them. */
  readonly allow: {
    /** Source and target have different releases. */
    readonly pairing: boolean;
    /** The target has foreign nodes. */
    readonly foreignNodes?: boolean;
    /** The conductors' ipmitool, if it differs from their release's. */
    readonly ipmitool?: ConductorIpmitool | undefined;
  };
}

interface Destination {
  readonly target: Target;
  readonly release: Release;
  readonly same: SameSecret;
}

type NovaPlanner = Awaited<ReturnType<typeof planNova>>;

interface PlanExtras {
  readonly nova: NovaPlanner | null;
  readonly each: (line: PlannedMachine, machine: Machine) => void;
  readonly progress: (machines: number) => void;
}

/** Transforms every machine of the snapshot, compares it with Ironic and writes the plan. */
export async function makePlan(
  run: RunFolder,
  from: Sources,
  ironic: Destination,
  { nova, each, progress }: PlanExtras,
) {
  try {
    const prepared = await prepare(from, ironic);
    const { header, conductors, transform, carried } = prepared;
    const tally = createTally(header.findings);
    const plan = await createPlan(run);
    try {
      const origins = [...transform.origins(), ...(carried?.origins ?? [])];
      const about: MachinesHeader = { format: "nova2ironic/machines@1", origins };
      const writer = await plan.begin(MACHINES, about);
      const rows = (await nova?.begin(plan)) ?? null;
      for await (const batch of plannedBatches(from, ironic, prepared, nova, tally.note)) {
        for (const { machine, line } of batch) {
          tally.add(line);
          each(line, machine);
          await writer.write(line);
          await rows?.add(machine, line);
        }
        progress(tally.counts().machines);
      }
      const late = [...transform.unmatched(), ...((await rows?.end()) ?? [])];
      tally.note(late);
      const counts = tally.counts();
      const manifest = { ...header, counts, nova: rows?.about() ?? null };
      const sha256 = await plan.finish(manifest, () => failpoint("plan.between"));
      return {
        ...{ header, counts, sha256 },
        /** Findings known after the last machine. The plan counts them, and the summary shows them. */
        late,
        conductors: conductors.text,
        /** Steps on Nova's own rows. Null if they are not planned. */
        nova: manifest.nova?.counts ?? null,
      };
    } catch (error) {
      await plan.abandon();
      throw error;
    }
  } finally {
    // Its reader holds a transaction of nova, opened long before the first line.
    await nova?.close();
  }
}

async function prepare(
  { snapshot, mappings, site, power, allow }: Sources,
  { target, release }: Destination,
) {
  const { header: source, footer } = snapshot;
  const { source: from } = source;
  const transform = createTransform(
    mappings.forRelease(release, site.site),
    source,
    await mappings.validator(release),
    power?.view ?? null,
    allow.ipmitool,
  );
  const carried =
    target.identity.engine === "rest"
      ? carry(mappings.rest, release.doc, transform.origins().length)
      : null;
  const before = await target.counts();
  const conductors = preflight(await target.service(), carried !== null);
  const { schema_version: bm } = from.nova_bm;
  const header: PlanHeader = {
    format: "nova2ironic/plan@2",
    tool: VERSION,
    made_from: {
      ...{ snapshot: footer.sha256, mapping: mappings.sha256, site: site.sha256 },
      power: power?.made_from ?? null,
    },
    source: from,
    target: target.identity,
    pairing: pair(from.nova?.schema_version ?? null, bm, release.doc, allow.pairing),
    key: source.key,
    findings: [...source.findings, ...conductors.findings],
    target_before: before,
    ...(allow.foreignNodes === true && { allow_other_nodes: true as const }),
    ...(allow.ipmitool !== undefined && { conductor_ipmitool: allow.ipmitool }),
  };
  return { transform, carried, conductors, header };
}

async function* plannedBatches(
  { snapshot }: Sources,
  { target, release, same }: Destination,
  { header, conductors, transform, carried }: Awaited<ReturnType<typeof prepare>>,
  nova: NovaPlanner | null,
  note: (found: readonly Finding[]) => void,
) {
  const charset = inspectCharset(target.identity.charset);
  const gate = unchangedGate(release.doc.release, snapshot.header.source.nova);
  const make = (machine: Machine): Transformed => {
    const one = transform.machine(machine);
    const made = conductors.machine(carried === null ? charset(one) : carried.machine(one));
    return nova === null && gate !== null ? judgeUnchanged(gate, machine, made) : made;
  };
  // An empty Ironic needs no comparison, so it is not queried.
  const empty = header.target_before.nodes + header.target_before.ports === 0;
  const asks = !empty || nova !== null;
  for await (const lines of asks ? regroup(snapshot.lines(), QUERY_SIZE) : snapshot.lines()) {
    const machines = lines.flatMap((line) => ("orphan" in line ? [] : [line]));
    for (const line of lines) if ("orphan" in line) note([line.finding]);
    const made = machines.map(make);
    const judged = (await nova?.judge(machines, made)) ?? made;
    const index = empty ? EMPTY : indexCurrent(await target.current(claimsOf(judged)));
    yield machines.flatMap((machine, at) => {
      const one = judged[at];
      return one === undefined ? [] : [{ machine, line: planMachine(machine, one, index, same) }];
    });
  }
}

function createTally(initial: readonly Finding[]) {
  const verdicts: Record<Verdict, number> = {
    ...{ create: 0, unchanged: 0, drift: 0, conflict: 0, blocked: 0, skipped: 0 },
  };
  const findings: Record<string, number> = {};
  let [machines, nodes, ports, outdated] = [0, 0, 0, 0];
  const note = (found: readonly Finding[]): void => {
    for (const { code } of found) findings[code] = (findings[code] ?? 0) + 1;
  };
  note(initial);
  return {
    note,
    add(line: PlannedMachine): void {
      machines += 1;
      verdicts[line.verdict] += 1;
      note(line.findings);
      if (line.findings.some((one) => one.code === "N2I-D612" && blocks(one))) outdated += 1;
      if (line.verdict !== "create") return;
      for (const { change, resource } of line.records) {
        if (change !== "create") continue;
        if (resource === "node") nodes += 1;
        else ports += 1;
      }
    },
    counts: (): PlanCounts => ({
      ...{ machines, verdicts, nodes, ports, findings },
      ...(outdated > 0 && { power_outdated: outdated }),
    }),
  };
}
