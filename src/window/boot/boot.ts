import { MigrationError } from "../../lib/error.ts";
import { counted } from "../../lib/text.ts";
import { loadMappings } from "../../migrate/open/documents.ts";
import type { PlannedMachine } from "../../model/plan.ts";
import { checkWindow } from "../../run/files/window-file.ts";
import { nextCommand, pick, TREE } from "../../run/next.ts";
import { inRun, openPlan, PLAN, sealOf } from "../../run/run.ts";
import { saveOptions } from "../../run/saved-options.ts";
import { machinesByName } from "../../run/scope.ts";
import type { Sink } from "../../run/sink.ts";
import { openTrees } from "../../systems/tftp/tree.ts";
import {
  type Lines,
  previewStaging,
  type StageResult,
  stageAll,
  unstageAll,
  verifyStaged,
} from "./staging.ts";

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
