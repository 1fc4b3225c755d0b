import { startedChangesIn } from "../../engine/started.ts";
import { windowBack, windowForward } from "../../engine/window.ts";
import { ONE_BY_ONE } from "../../engine/window-part.ts";
import { MigrationError } from "../../lib/error.ts";
import { regroup } from "../../lib/streams.ts";
import { counted } from "../../lib/text.ts";
import { bootPart, stagedTrees, stepsOf } from "../../migrate/boot/boot-steps.ts";
import { loadMappings } from "../../migrate/open/documents.ts";
import type { Entries } from "../../model/journal.ts";
import { isLoaded, type PlannedMachine } from "../../model/plan.ts";
import type { BootRow } from "../../model/preview.ts";
import type { Seal } from "../../model/secret.ts";
import type { RunFolder } from "../../run/files/run-folder.ts";
import { checkWindow } from "../../run/files/window-file.ts";
import { nextCommand, pick, TREE } from "../../run/next.ts";
import { inRun, openPlan, PLAN, sealOf } from "../../run/run.ts";
import { saveOptions } from "../../run/saved-options.ts";
import { machinesByName } from "../../run/scope.ts";
import { type RunSession, withSession } from "../../run/session.ts";
import type { Sink } from "../../run/sink.ts";
import { stumbles } from "../../systems/tftp/rules/stage.ts";
import { sweep } from "../../systems/tftp/safe-fs.ts";
import { openTrees, readLink, readText, sizeOf, type Tree } from "../../systems/tftp/tree.ts";
import {
  type BootLocation,
  type BootMachine,
  bootRequestOf,
  inspectBoot,
  stagedMachines,
  stagingPart,
  unstagingPart,
} from "./boot-files.ts";

export interface BootOptions {
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

interface Booted extends StageResult {
  /** Old TFTP services that machines use, by host. Null if there are none. */
  readonly dhcp: string | null;
}

/** Stages, rolls back, previews or verifies boot files. */
export function boot(words: BootOptions, sink: Sink): Promise<Booted> {
  const { node, undo } = words;
  return inRun(words.run, "boot", { kind: "migration" }, async (run) => {
    const [tree] = await openTrees([`*=${words.tftpRoot}`], "--tftp-root");
    if (tree === undefined) throw new Error("one tree was asked for");
    const from = await openTrees(words.from ?? [], "--from");
    const place = { tree, from, served: servedOf(words, tree.root) };
    const { header, footer, lines: all } = await openPlan(`${run.path}/${PLAN}`);
    const { wants, uuids } = await machinesByName(node ?? [], all, "is not in the plan");
    const lines = async function* (): AsyncGenerator<readonly PlannedMachine[]> {
      for await (const batch of all()) yield batch.filter(wants);
    };
    if (!undo) await noteTakeOver(header.target.release, words, sink);
    const only = (rows: StageResult["rows"]): Booted => ({
      ...{ rows, stopped: false, elsewhere: [], dhcp: null },
    });
    if (words.verify) return only(await verifyStaged(lines(), place));
    if (words.plan) return only(await previewStaging(lines(), place));
    const dhcp = undo ? null : await oldServers(lines());
    const seal = await sealOf(run, words.keyFile, header.key);
    await checkWindow(run, "boot");
    await saveOptions(run, "boot", words);
    await sink.confirm(`${undo ? "Remove" : "Stage"} boot files in ${place.tree.root}?`);
    const result = await sink.during(
      undo ? "unstage" : "stage",
      footer.footer.machines,
      (progress) =>
        undo
          ? unstageAll(run, place, seal, (id) => node === undefined || uuids.has(id), progress)
          : stageAll(run, lines(), place, seal, progress),
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
async function noteTakeOver(release: string, words: BootOptions, { note }: Sink): Promise<void> {
  const found = (await loadMappings()).releases.find(({ doc }) => doc.release === release);
  if (found?.doc.boot !== "deploy") return;
  const again = nextCommand("boot", words, pick(words, TREE));
  const verify = nextCommand("verify", words, { takeover: true });
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

interface StageResult {
  readonly rows: readonly BootRow[];
  readonly stopped: boolean;
  /** Other trees with staged files of this run, for a rollback. */
  readonly elsewhere: readonly string[];
}

type Lines = AsyncIterable<readonly PlannedMachine[]>;

/** Machines to inspect at once if none is staged. */
const TOGETHER = 32;

/** Machines with an instance to boot. */
async function* machinesOf(plan: Lines): AsyncGenerator<readonly BootMachine[]> {
  for await (const batch of plan)
    yield batch.filter(isLoaded).flatMap((machine) => {
      const asked = bootRequestOf(machine);
      const { uuid, bm_node_id } = machine;
      return asked === null ? [] : [{ id: uuid ?? "", bm_node_id, asked }];
    });
}

/** The changes of a staging, read-only. */
async function previewStaging(plan: Lines, place: BootLocation): Promise<readonly BootRow[]> {
  const rows: BootRow[] = [];
  for await (const batch of regroup(machinesOf(plan), TOGETHER))
    for (const [at, position] of (await inspectBoot(batch, place)).entries()) {
      const { is } = position;
      const state = is === "other" ? "left" : is === "after" ? "ready" : "to stage";
      rows.push(rowOf(position, state, batch[at]));
    }
  return rows;
}

function rowOf(
  { paths, why }: Pick<BootRow, "why"> & { readonly paths: readonly string[] },
  state: BootRow["state"],
  { id = "", bm_node_id = 0 }: { readonly id?: string; readonly bm_node_id?: number } = {},
): BootRow {
  return { uuid: id, bm_node_id, state, changes: paths, why };
}

/**
 * Stages missing files, machine by machine. The journal has each change and the replaced files
 * first. Safe to repeat.
 * @throws MigrationError N2I-E301 if it fails partway
 */
async function stageAll(
  run: RunFolder,
  plan: Lines,
  place: BootLocation,
  seal: Seal,
  progress: (machines: number) => void,
): Promise<StageResult> {
  const rows: BootRow[] = [];
  const part = stagingPart(place, seal);
  const leg = { part, command: "boot", changes: () => machinesOf(plan), pace: ONE_BY_ONE };
  return withTree(run, place.tree, async (session) => {
    const { stopped, broke } = await windowForward(leg, session, (ending) => {
      const { change, position, made, behind } = ending;
      const state = made ? "staged" : position.is === "after" ? "ready" : "left";
      rows.push(rowOf(position, state, change));
      progress(behind);
    });
    if (broke !== null) throw broke;
    return { rows, stopped, elsewhere: [] };
  });
}

/**
 * Rolls back this run's staged files, last machine and step first. Files that changed since are
 * reported.
 * @throws MigrationError N2I-E301 if it fails partway
 */
async function unstageAll(
  run: RunFolder,
  { tree }: BootLocation,
  seal: Seal,
  wants: (node: string) => boolean,
  progress: (machines: number) => void,
): Promise<StageResult> {
  const rows: BootRow[] = [];
  const part = unstagingPart(tree, seal);
  return withTree(run, tree, async (session) => {
    const trees = [...stagedTrees(session.journal.entries())];
    const elsewhere = trees.flatMap(([other, machines]) =>
      other !== tree.root && machines > 0 ? [other] : [],
    );
    const leg = {
      ...{ part, command: "boot", pace: ONE_BY_ONE },
      async *changes(ours: Parameters<typeof stagedMachines>[0]) {
        yield stagedMachines(ours).filter(({ id }) => wants(id));
      },
    };
    const { stopped, broke } = await windowBack(leg, session, ({ change, position, behind }) => {
      rows.push(rowOf(position, position.is === "after" ? "undone" : "left", change));
      progress(behind);
    });
    if (broke !== null) throw broke;
    return { rows, stopped, elsewhere };
  });
}

/** Opens the run's journal and removes partial files of a crash. */
function withTree<T>(
  run: RunFolder,
  tree: Tree,
  work: (session: RunSession) => Promise<T>,
): Promise<T> {
  return withSession(run, async (session) => {
    await session.begin(bootPart(tree.root), { tree: tree.root });
    await sweepOpen(tree, session.journal.entries());
    return work(session);
  });
}

/** Reads the tree as a machine would. @throws MigrationError N2I-E326 if it is empty */
async function verifyStaged(
  plan: Lines,
  { tree, served }: BootLocation,
): Promise<readonly BootRow[]> {
  const server = {
    link: (path: string) => readLink(tree, path),
    size: (path: string) => sizeOf(tree, path),
    text: async (path: string) => {
      const content = await readText(tree, path);
      return content.kind === "text" ? content.text : null;
    },
  };
  const rows: BootRow[] = [];
  for await (const batch of machinesOf(plan))
    for (const { id, bm_node_id, asked } of batch) {
      const wrong =
        "why" in asked ? [asked.why] : await stumbles(asked.wanted, server, [served, tree.root]);
      const broken = "why" in asked ? "left" : "stumbles";
      const state = wrong.length > 0 ? broken : "ready";
      rows.push({ uuid: id, bm_node_id, state, changes: [], why: wrong.join("; ") || null });
    }
  if (rows.length === 0)
    throw new MigrationError(
      "N2I-E326",
      "no machine in the plan, or among those specified, has an instance that boots from this tree",
    );
  return rows;
}

/** Removes partial files of a crash. */
async function sweepOpen({ root }: Tree, entries: Entries): Promise<void> {
  for (const [id, begun] of startedChangesIn(entries, bootPart(root)))
    if (begun.open) for (const { path } of stepsOf(id, begun)) await sweep(root, path);
}
