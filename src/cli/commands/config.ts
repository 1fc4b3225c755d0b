import type { CommandModule } from "yargs";
import type { PlannedHost } from "../../core/settings/judge.ts";
import { strandedFlavors } from "../../core/settings/stranded.ts";
import { type Wanted, wantedSettings } from "../../core/settings/wanted.ts";
import { openRun } from "../../edge/disk/run-folder.ts";
import { MigrationError } from "../../model/error.ts";
import { EXIT_STATUS } from "../../model/exit.ts";
import type { Part, Stranded } from "../../model/settings.ts";
import { type LookedAt, lookAtConfs } from "../../stages/config.ts";
import { loadSettings, releaseNames } from "../../stages/documents.ts";
import { plannedHosts } from "../../stages/planned-hosts.ts";
import { type FlavorPlaces, planOrNull, sizesOf } from "../../stages/sizes.ts";
import { io } from "../io.ts";
import { type FormatOptions, formatOptions } from "../print/options.ts";
import { settingsJson, settingsText } from "../print/settings.ts";
import { printRows } from "../print/table.ts";
import { visibleLines } from "../print/visible.ts";
import { exitWith, print, runOption, say, type Voice } from "./shared.ts";

interface Args extends Voice, FormatOptions {
  readonly run?: string;
  readonly ironicRelease?: string;
  readonly novaConf?: readonly string[];
  readonly part?: Part;
  readonly exactFilters: boolean;
  readonly novaDb?: string;
  readonly novaApiDb?: string;
  readonly check: boolean;
}

export const configCommand: CommandModule<object, Args> = {
  command: "config",
  describe: "Print what nova.conf needs for Ironic, as a patch of given files, or check them",
  builder: (yargs) =>
    yargs
      .options({
        run: {
          ...runOption.run,
          demandOption: false,
          describe: "The run's folder: its release and sizes",
        },
        "ironic-release": {
          choices: releaseNames(),
          requiresArg: true,
          describe: "Release of Ironic and of its Nova; without it, that of the run's plan",
        },
        "nova-conf": {
          type: "string",
          array: true,
          nargs: 1,
          describe: "[HOST=]FILE: nova.conf to patch or check; repeat it for each",
        },
        part: {
          choices: ["scheduler", "compute"] as const,
          requiresArg: true,
          describe: "Only the settings of nova-scheduler, or of nova-compute",
        },
        "exact-filters": {
          type: "boolean",
          default: false,
          describe: "Flavors match machines of exactly their size; tells which match none",
        },
        "nova-db": {
          type: "string",
          requiresArg: true,
          describe:
            "With --exact-filters: look at every flavor for machines, not at those in use alone",
        },
        "nova-api-db": {
          type: "string",
          requiresArg: true,
          describe: "and at those of Newton and later, in nova_api's database",
        },
        check: { type: "boolean", default: false, describe: "A row a setting, and no patch" },
        ...formatOptions,
      })
      .epilogue("Exit status: 0 all is as needed, 2 something is to change")
      .example("$0 config --ironic-release juno", "")
      .example(
        "$0 config --run m1 --nova-conf compute-1=/root/confs/compute-1.conf --exact-filters",
        "",
      ) as never,
  async handler(args) {
    if (args.check && args.novaConf === undefined)
      throw new MigrationError("N2I-E100", "--check wants --nova-conf");
    for (const [option, spec] of [
      ["--nova-db", args.novaDb],
      ["--nova-api-db", args.novaApiDb],
    ] as const)
      if (spec !== undefined && (args.run === undefined || !args.exactFilters))
        throw new MigrationError("N2I-E100", `${option} wants --run and --exact-filters`);
    const wanted = wantedSettings(loadSettings(), releaseNames(), {
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
  },
};

/** @throws MigrationError N2I-E100 when nothing tells it */
async function releaseOf({ run, ironicRelease }: Args): Promise<string> {
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

async function tell(wanted: Wanted, looked: LookedAt | null, args: Args): Promise<void> {
  if (looked === null) return print(settingsText(wanted));
  if (!args.check) {
    io().stdout.write(looked.patches.join(""));
    return;
  }
  await printRows(
    io().stdout,
    ["Host", "Section", "Key", "State", "Wanted", "Found", "Where"],
    looked.rows.map((row) => [
      ...[
        row.host,
        row.section,
        row.key,
        row.state,
        row.wanted ?? "your own",
        row.found,
        row.where,
      ],
    ]),
    args,
  );
}

/** On stderr: stdout is the patch, for a program. It is no progress, so --quiet does not silence it. */
function warn({ json }: Args, text: string): void {
  if (!json) io().stderr.write(`${visibleLines(text).join("\n")}\n`);
}

function tellStranded(stranded: Held | null, args: Args): void {
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
