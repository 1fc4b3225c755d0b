import { MigrationError } from "../../lib/error.ts";
import { counted } from "../../lib/text.ts";
import { plansIn } from "../../model/journal.ts";
import type { Machine } from "../../model/machine.ts";
import type { PlannedMachine } from "../../model/plan.ts";
import type { ConductorIpmitool, MachineOf } from "../../model/power.ts";
import { identified } from "../../run/cloud.ts";
import { closing, type Keep, openRole } from "../../run/databases.ts";
import { readJournal } from "../../run/files/journal.ts";
import { removePlans } from "../../run/files/plan-folder.ts";
import type { RunFolder } from "../../run/files/run-folder.ts";
import { inRun, openSnapshot, PLAN, SNAPSHOT, sealOf } from "../../run/run.ts";
import { saveOptions, savePlanned } from "../../run/saved-options.ts";
import type { Sink } from "../../run/sink.ts";
import { foreignNodesText } from "../apply/pre-write-check.ts";
import { type ConnectionOptions, openFlavorApi } from "../flavors/flavor-api.ts";
import { type NovaRequest, planNova } from "../hosts/nova-plan.ts";
import { NO_SITE } from "../mapping/site.ts";
import { openBackend, type TargetOptions } from "../open/backend.ts";
import { loadMappings } from "../open/documents.ts";
import { POWER, powerOf } from "../power/power-file.ts";
import { machineOf } from "./machine-finder.ts";
import { type Destination, makePlan, type Sources } from "./make-plan.ts";
import { openProposal } from "./propose.ts";
import { onceLoaded, slowDelete } from "./rules/delete-cost.ts";

export interface PlanCommandOptions extends TargetOptions, ConnectionOptions {
  readonly run: string;
  readonly ironicRelease?: string;
  readonly site?: string;
  readonly allowPairing: boolean;
  readonly allowOtherNodes: boolean;
  readonly maxUnreachable: number;
  readonly recordPower: boolean;
  readonly proposeSite?: string;
  readonly placementDb?: string;
  readonly keyFile?: string;
}

interface PlanRequest {
  /** Options for Nova's rows. Null without Nova. */
  readonly nova: NovaRequest | null;
  /** The conductors' ipmitool, if it differs from their release's. */
  readonly ipmitool: ConductorIpmitool | undefined;
}

interface PlanInputs {
  readonly options: PlanCommandOptions;
  /** Receives every line. */
  readonly each: (line: PlannedMachine, machine: MachineOf) => void;
}

export function plan(
  options: PlanCommandOptions,
  inputs: PlanRequest,
  sink: Sink,
  each: PlanInputs["each"],
) {
  return inRun(options.run, "plan", { kind: "migration" }, (run) =>
    closing(async (keep) => {
      const snapshot = await openSnapshot(`${run.path}/${SNAPSHOT}`);
      const seal = await sealOf(run, options.keyFile, snapshot.header.key);
      const mappings = await loadMappings();
      const noSite = { site: NO_SITE, sha256: null };
      const site = options.site === undefined ? noSite : await mappings.site(options.site);
      const backend = keep(await openBackend(options, mappings, { readOnly: true }, sink.report));
      const novaDbs = await openNova(options, inputs.nova, keep);
      const opening = backend.open(options.ironicRelease, seal, { planning: true });
      const ironic = { ...(await opening), same: backend.same(seal) };
      const { entries } = await readJournal(run);
      // Foreign nodes, which apply refuses. Null if none, or if allowed. They are read before anything
      // is saved, because a later failure would leave an unknown plan.
      const { target } = ironic;
      const foreignNodes = options.allowOtherNodes
        ? null
        : await foreignNodesText(run, backend, target, entries);
      const { maxUnreachable, recordPower } = options;
      const power = await powerOf(`${run.path}/${POWER}`, maxUnreachable, recordPower);
      const from = { snapshot, mappings, site, power };
      const keys = (await backend.scannedKeys?.()) ?? [];
      const made = await make(run, { ...from, ...inputs }, ironic, novaDbs, {
        ...sink,
        options,
        each,
      });
      const { nodes, ports } = made.counts;
      // Suggest the index during plan, because during a rollback it is too late.
      const slow = slowDelete(nodes, onceLoaded(keys, ports));
      if (slow !== null) sink.note(slow.note);
      // An applied plan is kept under its digest, because rollback needs its lines.
      await removePlans(run, plansIn(entries));
      await savePlanned(run, options);
      const path = `${run.path}/${PLAN}`;
      return { ...made, path, foreignNodes };
    }),
  );
}

async function make(
  run: RunFolder,
  { ipmitool, ...from }: Omit<Sources, "allow"> & PlanRequest,
  ironic: Destination,
  novaDbs: Awaited<ReturnType<typeof openNova>>,
  { options, during, each }: Pick<Sink, "during"> & PlanInputs,
) {
  const { doc } = ironic.release;
  const readings = from.power?.view.readings ?? new Map();
  const images = novaDbs?.request.flavors.images ?? null;
  const proposal = await openProposal(options, doc, readings, images);
  const moment = { release: doc.release, now: new Date().toISOString() };
  const nova = novaDbs && (await planNova(novaDbs, from.snapshot.header, novaDbs.request, moment));
  const forget = await saveOptions(run, "plan", options);
  const { allowPairing: pairing, allowOtherNodes: foreignNodes } = options;
  const all = { ...from, allow: { pairing, foreignNodes, ipmitool } };
  const watch = (line: PlannedMachine, machine: Machine): void => {
    each(line, machineOf(machine));
    proposal?.add(line, machine);
  };
  const planned = await during(
    "plan",
    from.snapshot.footer.footer.machines,
    (progress) => makePlan(run, all, ironic, { nova, progress, each: watch }),
    ({ counts }) => `${counted(counts.machines, "machine")}`,
  ).catch(async (cause: unknown) => {
    if (cause instanceof MigrationError && cause.code === "N2I-E107") await forget();
    throw cause;
  });
  return { ...planned, proposal: proposal?.text() ?? null };
}

/** Opens nova and its flavor database, with the options for its rows. Null without Nova. */
async function openNova(options: PlanCommandOptions, novaRequest: NovaRequest | null, keep: Keep) {
  const { novaDb } = options;
  if (novaDb === undefined || novaRequest === null) return null;
  const database = keep(await openRole("nova-db", novaDb, { readOnly: true }));
  const images = await identified(novaRequest.flavors.images, options);
  const request = { ...novaRequest, flavors: { ...novaRequest.flavors, images } };
  const { novaApiDb } = options;
  const api = novaApiDb === undefined ? null : await openFlavorApi(novaApiDb, true, keep);
  return { database, api, request };
}
