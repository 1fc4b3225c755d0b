import type { PlannedHost } from "../../core/settings/judge.ts";
import { strandedFlavors } from "../../core/settings/stranded.ts";
import { type Wanted, wantedSettings } from "../../core/settings/wanted.ts";
import { releaseNames } from "../../demo/load-tables.ts";
import { openRun } from "../../edge/disk/run-folder.ts";
import { MigrationError } from "../../model/error.ts";
import { EXIT_STATUS } from "../../model/exit.ts";
import type { Stranded } from "../../model/settings.ts";
import { settingsJson, settingsText } from "../../report/settings.ts";
import { visibleLines } from "../../report/text.ts";
import { type LookedAt, lookAtConfs } from "../../stages/config.ts";
import { loadSettings } from "../../stages/documents.ts";
import { plannedHosts } from "../../stages/planned-hosts.ts";
import { type FlavorPlaces, planOrNull, sizesOf } from "../../stages/sizes.ts";
import { io } from "../io.ts";
import type { ConfigArgs } from "../options/config.ts";
import { printView } from "../print/view.ts";
import { exitWith, print, say } from "./shared.ts";

export async function configCommand(args: ConfigArgs): Promise<void> {
  if (args.check && args.novaConf === undefined)
    throw new MigrationError("N2I-E100", "--check wants --nova-conf");
  for (const [option, spec] of [
    ["--nova-db", args.novaDb],
    ["--nova-api-db", args.novaApiDb],
  ] as const)
    if (spec !== undefined && (args.run === undefined || !args.exactFilters))
      throw new MigrationError("N2I-E100", `${option} wants --run and --exact-filters`);
  const wanted = wantedSettings(await loadSettings(), releaseNames(), {
    release: await releaseOf(args),
    exactFilters: args.exactFilters,
    part: args.part,
  });
  const looked =
    args.novaConf === undefined
      ? null
      : await lookAtConfs(args.novaConf, wanted.settings, await hostsIn(args.run));
  if (args.check && (looked?.rows.length ?? 0) === 0)
    throw new MigrationError("N2I-E326", "no setting of this release is wanted in these files");
  const stranded =
    args.exactFilters && args.run !== undefined ? await strandedIn(args.run, args) : null;
  if (args.json) io().stdout.write(settingsJson(wanted, looked, stranded?.flavors ?? null));
  else await tell(wanted, looked, args);
  for (const note of wanted.notes) say(args, `Note: ${note}`);
  if (looked?.hosts) warn(args, `Wrong: ${looked.hosts}.`);
  if (args.exactFilters) tellStranded(stranded, args);
  const open = looked?.rows.filter(({ state }) => state !== "right").length ?? 0;
  if (open > 0) say(args, `${open} settings are to change.`);
  else if (looked?.hosts === null) say(args, "All settings are as needed.");
  if (open > 0 || looked?.hosts || (stranded?.flavors.length ?? 0) > 0)
    exitWith(EXIT_STATUS.differs.status);
}

/** @throws MigrationError N2I-E100 when nothing tells it */
async function releaseOf({ run, ironicRelease }: ConfigArgs): Promise<string> {
  if (ironicRelease !== undefined) return ironicRelease;
  const plan = run === undefined ? null : await planOrNull(run);
  if (plan !== null) return plan.header.target.release;
  throw new MigrationError("N2I-E100", "nothing tells the release", {
    fix: "Give --ironic-release, or --run with a plan.",
  });
}

async function hostsIn(run: string | undefined): Promise<readonly PlannedHost[]> {
  return run === undefined ? [] : plannedHosts(await openRun(run, { create: false }));
}

/** Flavors held against machines. */
interface Held {
  readonly flavors: readonly Stranded[];
  readonly of: number;
  /** What the machines were read from. */
  readonly from: string;
  readonly unseen: boolean;
}

async function strandedIn(run: string, places: FlavorPlaces): Promise<Held> {
  const { flavors, nodes, from, unseen } = await sizesOf(run, places);
  return { flavors: strandedFlavors(flavors, nodes), of: flavors.length, from, unseen };
}

async function tell(wanted: Wanted, looked: LookedAt | null, args: ConfigArgs): Promise<void> {
  if (looked === null) return print(settingsText(wanted));
  if (!args.check) {
    io().stdout.write(looked.patches.join(""));
    return;
  }
  const columns = ["Host", "Section", "Key", "State", "Wanted", "Found", "Where"];
  const rows = looked.rows.map((row) => [
    ...[row.host, row.section, row.key, row.state],
    ...[row.wanted ?? "your own", row.found, row.where],
  ]);
  await printView({ columns, rows }, args);
}

/** On stderr: stdout is the patch, for a program. It is no progress, so --quiet does not silence it. */
function warn({ json }: ConfigArgs, text: string): void {
  if (!json) io().stderr.write(`${visibleLines(text).join("\n")}\n`);
}

function tellStranded(stranded: Held | null, args: ConfigArgs): void {
  if (stranded === null) {
    warn(args, "Flavors were not looked at: --run names the machines they are held against.");
    return;
  }
  const { flavors, of, from, unseen } = stranded;
  if (unseen) warn(args, "Flavors of nova_api were not looked at: give --nova-api-db.");
  const lines = flavors.map(({ flavor, why }) => `\n  ${flavor} ${why}.`).join("");
  warn(
    args,
    `Exact filters would strand ${flavors.length} of ${of} flavors, by the machines of ${from}.${lines}`,
  );
}
