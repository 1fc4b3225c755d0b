import { existsSync, writeFileSync } from "node:fs";
import { MigrationError, systemCode } from "../../lib/error.ts";
import { grouped } from "../../lib/grouped.ts";
import { counted } from "../../lib/text.ts";
import { plansIn } from "../../model/journal.ts";
import type { Machine } from "../../model/machine.ts";
import type { TargetDoc } from "../../model/mapping.ts";
import type { FlavorRows } from "../../model/nova/nova-rows.ts";
import type { PlannedMachine } from "../../model/plan.ts";
import type { ConductorIpmitool, MachineOf, PowerReadings } from "../../model/power.ts";
import type { MachineFlavor } from "../../model/settings.ts";
import { identified } from "../../run/cloud.ts";
import { closing, type Keep, openRole } from "../../run/databases.ts";
import { readJournal } from "../../run/files/journal.ts";
import { removePlans } from "../../run/files/plan-folder.ts";
import { inRun, openSnapshot, PLAN, SNAPSHOT, sealOf } from "../../run/run.ts";
import { saveOptions, savePlanned } from "../../run/saved-options.ts";
import type { Sink } from "../../run/sink.ts";
import type { Database } from "../../systems/database/open.ts";
import { readFlavorRows, readFlavorSizes } from "../../systems/nova-db/flavors.ts";
import { readClasses } from "../../systems/nova-db/later.ts";
import { novaVersion } from "../../systems/nova-db/plan-open.ts";
import { foreignNodesText } from "../apply/pre-write-check.ts";
import { type ConnectionOptions, openFlavorApi } from "../flavors/flavor-api.ts";
import { type NovaRequest, planNova } from "../hosts/nova-plan.ts";
import { NO_SITE } from "../mapping/cross-check.ts";
import { openBackend, type TargetOptions } from "../open/backend.ts";
import { loadMappings } from "../open/documents.ts";
import { POWER, powerOf } from "../power/power-file.ts";
import { machineOf } from "./machine-finder.ts";
import { makePlan } from "./make-plan.ts";
import { onceLoaded, slowDelete } from "./rules/delete-cost.ts";
import { createProposal } from "./rules/propose.ts";

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

/**
 * @param nova options for Nova's rows. Null without Nova
 * @param ipmitool of the conductors, if it differs from their release's
 */
export function plan(
  options: PlanCommandOptions,
  {
    nova: novaRequest,
    ipmitool,
  }: { readonly nova: NovaRequest | null; readonly ipmitool: ConductorIpmitool | undefined },
  sink: Sink,
  each: (line: PlannedMachine, machine: MachineOf) => void,
) {
  return inRun(options.run, "plan", { kind: "migration" }, (run) =>
    closing(async (keep) => {
      const snapshot = await openSnapshot(`${run.path}/${SNAPSHOT}`);
      const { header, footer } = snapshot;
      const seal = await sealOf(run, options.keyFile, header.key);
      const mappings = await loadMappings();
      const noSite = { site: NO_SITE, sha256: null };
      const site = options.site === undefined ? noSite : await mappings.site(options.site);
      const backend = keep(await openBackend(options, mappings, { readOnly: true }, sink.report));
      const novaDbs = await openNova(options, novaRequest, keep);
      const opening = backend.open(options.ironicRelease, seal, { planning: true });
      const ironic = { ...(await opening), same: backend.same(seal) };
      const { entries } = await readJournal(run);
      const { allowPairing: pairing, allowOtherNodes, maxUnreachable, recordPower } = options;
      // Foreign nodes, which apply refuses. Null if none, or if allowed. They are read before anything
      // is saved, because a later failure would leave an unknown plan.
      const foreignNodes = allowOtherNodes
        ? null
        : await foreignNodesText(run, backend, ironic.target, entries);
      const power = await powerOf(`${run.path}/${POWER}`, maxUnreachable, recordPower);
      const keys = (await backend.scannedKeys?.()) ?? [];
      const { doc } = ironic.release;
      const proposal = await openProposal(options, novaDbs, doc, power.view.readings);
      const moment = { release: doc.release, now: new Date().toISOString() };
      const nova = novaDbs && (await planNova(novaDbs, header, novaDbs.request, moment));
      const forget = await saveOptions(run, "plan", options);
      const allow = { pairing, foreignNodes: allowOtherNodes, ipmitool };
      const from = { snapshot, mappings, site, power, allow };
      const watch = (line: PlannedMachine, machine: Machine): void => {
        each(line, machineOf(machine));
        proposal?.add(line, machine);
      };
      const made = await sink
        .during(
          "plan",
          footer.footer.machines,
          (progress) => makePlan(run, from, ironic, { nova, progress, each: watch }),
          ({ counts }) => `${counted(counts.machines, "machine")}`,
        )
        .catch(async (cause: unknown) => {
          if (cause instanceof MigrationError && cause.code === "N2I-E107") await forget();
          throw cause;
        });
      const { nodes, ports } = made.counts;
      // Suggest the index during plan, because during a rollback it is too late.
      const slow = slowDelete(nodes, onceLoaded(keys, ports));
      if (slow !== null) sink.note(slow.note);
      // An applied plan is kept under its digest, because rollback needs its lines.
      await removePlans(run, plansIn(entries));
      await savePlanned(run, options);
      const path = `${run.path}/${PLAN}`;
      return { ...made, proposal: proposal?.text() ?? null, path, foreignNodes };
    }),
  );
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

/** Opens the generator of an initial site document. Null if none is requested. */
async function openProposal(
  { proposeSite, placementDb }: Pick<PlanCommandOptions, "proposeSite" | "placementDb">,
  nova: Awaited<ReturnType<typeof openNova>>,
  { power_keys: keys }: TargetDoc,
  readings: PowerReadings,
) {
  if (proposeSite === undefined) return null;
  if (existsSync(proposeSite)) throw refuse(proposeSite, "it already exists");
  const placement = await closing(async (keep) =>
    placementDb === undefined
      ? new Map<string, string>()
      : readClasses(keep(await openRole("placement-db", placementDb, { readOnly: true }))),
  );
  // Flavors of nova_api replace nova's flavors with the same id, as in Nova.
  const found = new Map<number, MachineFlavor>();
  if (nova !== null) {
    const { database, api } = nova;
    await novaVersion(database);
    await addFlavors(found, database, await readFlavorRows(database));
    if (api !== null)
      await addFlavors(found, api.database, await readFlavorRows(api.database, new Map()));
  }
  const images = nova?.request.flavors.images ?? null;
  return createProposal({ placement, flavors: [...found.values()], readings, keys, images });
}

/** Adds live flavors for machines: with a custom resource class or deploy images. */
async function addFlavors(
  found: Map<number, MachineFlavor>,
  database: Database,
  { schema, flavors, specs }: FlavorRows,
): Promise<void> {
  const asking = specs.filter(({ key }) => key.startsWith("resources:CUSTOM_"));
  const ids = new Set(asking.map(({ instance_type_id }) => instance_type_id));
  const sizes = await readFlavorSizes(database, [...ids], schema);
  const byId = grouped(specs, ({ instance_type_id }) => instance_type_id);
  for (const { id, name } of flavors) {
    const size = sizes.get(id);
    const pairs = (byId.get(id) ?? []).map(({ key, value }) => [key, value] as const);
    if (size !== undefined) found.set(id, { name, size, extra_specs: Object.fromEntries(pairs) });
  }
}

/** @throws MigrationError N2I-E100 if the file exists, because it may contain decisions */
export function writeProposal(
  { proposeSite: file = "" }: Pick<PlanCommandOptions, "proposeSite">,
  text: string,
): string {
  try {
    writeFileSync(file, text, { flag: "wx", mode: 0o600 });
  } catch (cause) {
    throw refuse(file, systemCode(cause) ?? "no name", cause);
  }
  // Readings depend on driver_info, so power runs again if the document changes it.
  const again = text.includes("driver_info:") ? "power and plan" : "plan";
  return `Proposed a site document: ${file}. Fill in the empty values, then run ${again} with --site ${file}.`;
}

function refuse(file: string, reason: string, cause?: unknown): MigrationError {
  const fix = "Specify a new file, because this file may contain decisions.";
  const message = `--propose-site ${file} cannot be written: ${reason}`;
  return new MigrationError("N2I-E100", message, { cause, fix });
}
