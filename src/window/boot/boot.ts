import { startedChangesIn } from "../../engine/started.ts";
import { type Ending, runWindow } from "../../engine/window.ts";
import { ONE_BY_ONE } from "../../engine/window-part.ts";
import { MigrationError } from "../../lib/error.ts";
import { regroup } from "../../lib/streams.ts";
import { counted } from "../../lib/text.ts";
import { bootPart, stagedTrees, stepsOf } from "../../migrate/boot/boot-steps.ts";
import { loadMappings } from "../../migrate/open/documents.ts";
import type { BootRow } from "../../model/change.ts";
import { isLoaded, type PlannedMachine } from "../../model/plan.ts";
import type { Seal } from "../../model/secret.ts";
import type { RunFolder } from "../../run/files/run-folder.ts";
import { checkWindow } from "../../run/files/window-file.ts";
import { nextCommand, pick, TREE } from "../../run/next.ts";
import { inRun, openPlan, PLAN, sealOf } from "../../run/run.ts";
import { saveOptions } from "../../run/saved-options.ts";
import { machinesByName } from "../../run/scope.ts";
import { withSession } from "../../run/session.ts";
import type { Sink } from "../../run/sink.ts";
import { stumbles } from "../../systems/tftp/rules/stage.ts";
import { sweep } from "../../systems/tftp/safe-fs.ts";
import { openTrees, readLink, readText, sizeOf } from "../../systems/tftp/tree.ts";
import {
  type BootLocation,
  type BootMachine,
  type BootPosition,
  bootRequestOf,
  inspectBoot,
  stagingPart,
  unstagingPart,
} from "./boot-files.ts";

interface BootOptions {
  readonly run: string;
  readonly tftpRoot: string;
  readonly from?: readonly string[];
  readonly servedAs?: string;
  readonly node?: readonly string[];
  readonly plan: boolean;
  readonly verify: boolean;
  readonly undo: boolean;
  readonly keyFile?: string;
}

/**
 * @returns also old TFTP services that machines use, by host, or null
 * @throws MigrationError N2I-E326 if there is nothing to verify
 */
export function boot(options: BootOptions, sink: Sink) {
  const { node, undo } = options;
  return inRun(options.run, "boot", { kind: "migration" }, async (run) => {
    const [tree] = await openTrees([`*=${options.tftpRoot}`], "--tftp-root");
    if (tree === undefined) throw new Error("one tree was asked for");
    const from = await openTrees(options.from ?? [], "--from");
    const location = { tree, from, served: servedOf(options, tree.root) };
    const { header, footer, lines: all } = await openPlan(`${run.path}/${PLAN}`);
    const { selects, uuids } = await machinesByName(node ?? [], all, "is not in the plan");
    const lines = async function* (): AsyncGenerator<readonly PlannedMachine[]> {
      for await (const batch of all()) yield batch.filter(selects);
    };
    if (!undo) await noteTakeOver(header.target.release, options, sink);
    if (options.verify || options.plan) {
      const inspect = options.verify ? verifyStaged : previewStaging;
      const rows: BootRow[] = [];
      for await (const batch of regroup(machinesOf(lines()), 32))
        rows.push(...(await Promise.all(batch.map((machine) => inspect(machine, location)))));
      if (options.verify && rows.length === 0) throw new MigrationError("N2I-E326", NONE);
      return { rows, stopped: false, elsewhere: [], dhcp: null };
    }
    const dhcp = undo ? null : await oldServers(lines());
    const seal = await sealOf(run, options.keyFile, header.key);
    await checkWindow(run, "boot");
    await saveOptions(run, "boot", options);
    await sink.confirm(`${undo ? "Remove" : "Stage"} boot files in ${location.tree.root}?`);
    const isSelected = (id: string): boolean => node === undefined || uuids.has(id);
    const result = await sink.during(
      undo ? "unstage" : "stage",
      footer.footer.machines,
      (progress) =>
        changeTree(run, lines(), location, { undo, seal, selects: isSelected }, progress),
      ({ rows }) => `${counted(rows.length, "machine")}`,
    );
    return { ...result, dhcp };
  });
}

/** The served path. pxelinux ends paths at blanks and line ends. @throws MigrationError N2I-E100 */
function servedOf({ servedAs, verify, undo }: BootOptions, root: string): string {
  const served = servedAs ?? root;
  if (/^\/[!-~]*$/.test(served) || verify || undo) return served;
  throw new MigrationError("N2I-E100", "a boot file cannot contain the path of --tftp-root", {
    fix: "Pass the path that boot files use with --served-as: absolute, in ASCII and without spaces.",
  });
}

/**
 * If a takeover replaces boot files with ones that deploy, earlier staging is lost. The tree does
 * not show whether that happened, so this is always printed.
 * @source facts/systems.md D4; facts/ironic.md 2.5
 */
async function noteTakeOver(release: string, options: BootOptions, { note }: Sink): Promise<void> {
  const found = (await loadMappings()).releases.find(({ doc }) => doc.release === release);
  if (found?.doc.boot !== "deploy") return;
  const again = nextCommand("boot", options, pick(options, TREE));
  const verify = nextCommand("verify", options, { takeover: true });
  note(
    `Notice: each takeover by Ironic ${release} writes these files again, in deploy mode. When ${verify} ends with 0, and before a machine reboots, run ${again}`,
  );
}

/** Machines use the old host until a takeover replaces Neutron's DHCP options. */
async function oldServers(plan: Lines): Promise<string | null> {
  const servers = new Map<string, string>();
  for await (const batch of plan)
    for (const { boot, service_host } of batch)
      if (boot?.dhcp)
        servers.set(service_host ?? "?", `${boot.dhcp.server ?? "its my_ip"} (${boot.dhcp.file})`);
  return servers.size === 0
    ? null
    : [...servers].map(([host, server]) => `${host}: ${server}`).join(", ");
}

type Lines = AsyncIterable<readonly PlannedMachine[]>;

async function* machinesOf(plan: Lines): AsyncGenerator<readonly BootMachine[]> {
  for await (const batch of plan)
    yield batch.filter(isLoaded).flatMap((machine) => {
      const request = bootRequestOf(machine);
      const { uuid, bm_node_id } = machine;
      return request === null ? [] : [{ id: uuid ?? "", bm_node_id, request }];
    });
}

async function previewStaging(machine: BootMachine, location: BootLocation): Promise<BootRow> {
  const position = await inspectBoot(machine, location);
  const { is } = position;
  const state = is === "other" ? "left" : is === "after" ? "ready" : "to stage";
  return rowOf(position, state, machine);
}

type MachineName = { readonly id: string; readonly bm_node_id?: number };

function rowOf(
  { paths, reason }: Pick<BootPosition, "paths" | "reason">,
  state: BootRow["state"],
  { id, bm_node_id = 0 }: MachineName,
): BootRow {
  return { uuid: id, bm_node_id, state, changes: paths, reason };
}

/**
 * Stages missing files, machine by machine, or with `undo` rolls back this run's staged files, last
 * machine and step first. The journal has each change and the replaced files first. Changed files
 * are skipped. Safe to repeat.
 * @param selects machines to roll back
 * @returns also other trees with staged files of this run, for a rollback
 * @throws MigrationError N2I-E301 if it fails partway
 */
async function changeTree(
  run: RunFolder,
  plan: Lines,
  location: BootLocation,
  { undo, seal, selects }: { undo: boolean; seal: Seal; selects: (node: string) => boolean },
  progress: (machines: number) => void,
) {
  const { tree } = location;
  const name = bootPart(tree.root);
  const leg = { command: "boot", pace: ONE_BY_ONE };
  const staging = { ...leg, part: stagingPart(location, seal), changes: () => machinesOf(plan) };
  const unstaging = {
    ...{ ...leg, part: unstagingPart(tree, seal) },
    async *changes(started: ReturnType<typeof startedChangesIn>) {
      const machines = [...started].map(([id, one]) => ({ id, steps: stepsOf(id, one) }));
      yield machines.filter(({ id }) => selects(id)).toReversed();
    },
  };
  const rows: BootRow[] = [];
  const ends = ({ change, position, made, completed }: Ending<MachineName, BootPosition>): void => {
    const fine = undo ? "undone" : made ? "staged" : "ready";
    rows.push(rowOf(position, position.is === "after" ? fine : "left", change));
    progress(completed);
  };
  return withSession(run, async (session) => {
    await session.begin(name, { tree: tree.root });
    const entries = session.journal.entries();
    // Removes partial files of a crash.
    for (const [id, begun] of startedChangesIn(entries, name))
      if (begun.open) for (const { path } of stepsOf(id, begun)) await sweep(tree.root, path);
    const { stopped, broke } = undo
      ? await runWindow("back", unstaging, session, ends)
      : await runWindow("forward", staging, session, ends);
    if (broke !== null) throw broke;
    const trees = undo ? [...stagedTrees(entries)] : [];
    const elsewhere = trees.flatMap(([other, machines]) =>
      other !== tree.root && machines > 0 ? [other] : [],
    );
    return { rows, stopped, elsewhere };
  });
}

const NONE =
  "no machine in the plan, or among those specified, has an instance that boots from this tree";

/** Reads the tree as a machine would. */
async function verifyStaged(
  { request, ...machine }: BootMachine,
  { tree, served }: BootLocation,
): Promise<BootRow> {
  if ("reason" in request) return rowOf({ paths: [], ...request }, "left", machine);
  const server = {
    link: (path: string) => readLink(tree, path),
    size: (path: string) => sizeOf(tree, path),
    text: async (path: string) => {
      const content = await readText(tree, path);
      return content.kind === "text" ? content.text : null;
    },
  };
  const wrong = await stumbles(request.required, server, [served, tree.root]);
  const reason = wrong.join("; ") || null;
  return rowOf({ paths: [], reason }, reason === null ? "ready" : "stumbles", machine);
}
