import { releaseNames } from "../../run/files/load-tables.ts";
import { FOR_STAGES } from "../../run/next.ts";
import { STAGES } from "../../run/stages.ts";
import {
  type Declared,
  flag,
  grouped,
  list,
  number,
  type OptionTable,
  perHost,
  string,
} from "./declared.ts";
import { PLANNING } from "./plan.ts";
import {
  common,
  listOptions,
  matchOption,
  meaning,
  NOVA_DATABASES,
  needed,
  nodeOption,
  TARGET,
} from "./shared.ts";

/** Options of a stage, without their defaults, which the stage itself sets. */
function of({ command, options = {} }: Declared, names: readonly string[]): OptionTable {
  const table = names.map((name) => {
    const { default: _usual, group: _group, ...option } = options[name] ?? {};
    return [name, { ...option, describe: `${command}: ${option.describe}` }] as const;
  });
  return grouped("Stages:", Object.fromEntries(table));
}

export const WINDOW = {
  check: {
    command: "check",
    describe: "Check whether the window can begin, like nova-status upgrade check. Read-only",
    options: {
      ...common("run", "nova-bm-db"),
      "nova-db": string("Nova's database, in the same form"),
      ...needed("ironic-db"),
      "ironic-release": {
        ...{ choices: releaseNames(), requiresArg: true },
        describe: "Release of Ironic, if the database alone does not determine it",
      },
      "allow-pairing": flag("For plan --allow-pairing: report a different pairing as a warning"),
      "skip-blocked": flag("For apply --skip-blocked: report blocked machines as warnings"),
      "nova-api-db": string(
        "Later Nova releases: the API database (mappings, flavors, aggregates)",
      ),
      "placement-db": string("Later Nova releases: Placement's database, for allocations"),
      "ironic-conf": list("ironic.conf of a conductor, to estimate the hand-over. Repeatable"),
      glance: flag("Check in Glance whether images are active. Credentials: OS_* or --os-cloud"),
      ...meaning("os-cloud", "Glance: cloud in clouds.yaml (default: OS_CLOUD)"),
      ...common("os-cacert", "insecure"),
      ...meaning("all-rows", "Also show successful checks"),
      ...matchOption,
      ...meaning("watch", "Seconds to check that nova-compute does not send heartbeats"),
    },
    epilogue: "Exit status: 0 success, 1 warnings, 2 failures, 255 the check was not completed",
    examples: [
      "$0 check --run m1 --nova-bm-db conf:/etc/nova/nova.conf --nova-db file:/root/nova.url --ironic-db conf:/etc/ironic/ironic.conf",
    ],
  },
  config: {
    command: "config",
    describe: "Print the nova.conf settings for Ironic, or patch or check configuration files",
    options: {
      run: string("The run's folder, for its release and compute hosts"),
      "ironic-release": {
        ...{ choices: releaseNames(), requiresArg: true },
        describe: "Release of Ironic and Nova (default: from the plan or nova2ironic.yaml)",
      },
      "nova-conf": perHost("FILE", "nova.conf to patch or check. Repeat for each host"),
      "ironic-conf": list(
        "ironic.conf of a conductor, to patch for a faster hand-over. Repeatable",
      ),
      part: {
        ...{ choices: ["scheduler", "compute"], requiresArg: true },
        describe: "Only the settings of nova-scheduler or of nova-compute",
      },
      "exact-filters": flag(
        "Use filters that match a flavor only with machines of exactly its size",
      ),
      check: flag("Show a row for each setting instead of a patch"),
      ...listOptions,
    },
    ...{ exclude: ["part ironic-conf"], implies: ["check: nova-conf ironic-conf"] },
    epilogue: "Exit status: 0 all settings are correct, 2 settings must change",
    examples: [
      "$0 config --ironic-release juno",
      "$0 config --run m1 --nova-conf compute-1=/root/confs/compute-1.conf --exact-filters",
      "$0 config --run m1 --nova-conf compute-1=/root/confs/compute-1.conf --check",
      "$0 config --run m1 --ironic-conf /root/confs/conductor-1.conf > conductor-1.patch",
    ],
  },
  report: {
    command: "report",
    describe: "Write a page about the plan and its findings, for review and approval",
    options: {
      ...common("run"),
      format: {
        ...{ alias: "f", choices: ["html", "md"], default: "html" },
        describe: "HTML for a browser, or Markdown for a change ticket",
      },
      output: string("Output file (default: RUN/report.html, or stdout for Markdown)", {
        alias: "o",
      }),
      window: string(
        "FROM-TO, such as 02:00-05:00: the planned window, for the latest times to roll back",
        {
          form: [
            /^((?:[01]?\d|2[0-3]):[0-5]\d)-(?!\1$)(?:[01]?\d|2[0-3]):[0-5]\d$/,
            "FROM-TO, two different times of day, such as 02:00-05:00",
          ],
        },
      ),
      ...meaning("all-rows", "Markdown: include every section. By default, the report is one page"),
    },
    examples: [
      "$0 report --run m1 --window 02:00-05:00",
      "$0 report --run m1 --format md -o change.md",
    ],
  },
  boot: {
    command: "boot",
    describe: "Stage, verify or remove boot files of machines in a conductor's TFTP tree",
    options: {
      ...common("run"),
      "tftp-root": string("The conductor's TFTP tree", {
        ...{ demandOption: true, form: [/./, "a folder"] },
      }),
      from: perHost("DIR", "old tree with kernels and ramdisks (default: the same tree)"),
      "served-as": string(
        "Path of the tree in boot files, if it differs from --tftp-root: /tftpboot",
        { form: [/^\/[!-~]*$/, "an absolute path without spaces, in ASCII"] },
      ),
      ...nodeOption("Only this machine"),
      plan: flag("Only show the changes"),
      verify: flag("Read and check the tree in the same way as a booting machine"),
      undo: flag("Remove the boot files that this run staged"),
      ...common("key-file", "no-window", "yes"),
      ...listOptions,
    },
    exclude: ["plan verify undo"],
    examples: ["$0 boot --run m1 --tftp-root /tftpboot --from compute-1=/root/tftp/compute-1"],
  },
  handover: {
    command: "handover",
    describe: "Hand staged machines over to Ironic's conductors and watch each takeover",
    options: {
      ...common("run"),
      ...needed("ironic-db"),
      ...nodeOption("Only this machine"),
      "in-flight": number(
        "Maximum number of released machines that are not taken over yet (default: the number that conductors take over in one pass)",
        { least: 1 },
      ),
      "per-minute": number("Maximum number of machines to release per minute", { above: 0 }),
      deadline: number("Maximum seconds for the takeover of one machine", {
        default: 900,
        above: 0,
      }),
      "max-failures": number("Stop after this number of new failures", { default: 1, least: 1 }),
      "conductor-log": list("Conductor log to quote for failures: FILE or FILE:LINE. Repeatable"),
      undo: flag("Put the machines that this run released back into maintenance"),
      ...common("lock-wait", "after-finish", "no-window", "yes"),
      ...listOptions,
    },
    examples: ["$0 handover --run m1 --ironic-db conf:/etc/ironic/ironic.conf"],
  },
  finish: {
    command: "finish",
    describe: "End the window: unprotect the machines and let Ironic clean them again",
    options: {
      ...common("run", ...TARGET, "in-flight", "lock-wait"),
      ...nodeOption("Only this machine"),
      undo: flag("Restore the protection that this run removed"),
      plan: flag("Only show the changes"),
      ...common("no-window", "yes"),
      ...listOptions,
    },
    examples: [
      "$0 finish --run m1 --ironic-db conf:/etc/ironic/ironic.conf --plan",
      "$0 finish --run m1 --ironic-db conf:/etc/ironic/ironic.conf",
    ],
  },
  retire: {
    command: "retire",
    describe: "After the window: check whether nova_bm can be dropped, and print the statements",
    options: {
      ...common("run"),
      ...needed("nova-bm-db"),
      ...common(...TARGET),
      ...meaning("nova-db", "Nova's database, to check that no nova-compute uses nova-baremetal"),
      ...common(...NOVA_DATABASES.slice(1)),
      ...common("key-file"),
    },
    examples: [
      "$0 retire --run m1 --nova-bm-db conf:/etc/nova/nova.conf --ironic-db conf:/etc/ironic/ironic.conf",
    ],
  },
  run: {
    command: "run",
    describe: "Perform all stages of a run, and wait for manual steps. Run it again to resume",
    options: {
      ...common("run"),
      until: { choices: STAGES, requiresArg: true, describe: "Stop after this stage" },
      staged: flag("Load machines in maintenance, then hand them over one by one"),
      "skip-blocked": flag("Exclude blocked machines"),
      "per-minute": number("With --staged: maximum number of machines to hand over per minute", {
        above: 0,
      }),
      "pause-file": string("Do not start a stage while this file exists"),
      "hook-timeout": number("Maximum seconds for a hook in RUN/hooks", { default: 300 }),
      watch: number("Seconds that check (60) and apply (20) watch for nova-compute heartbeats", {
        most: 3600,
      }),
      wait: number("Maximum seconds to wait for a manual step (default: no limit)"),
      ...common("yes"),
      ...of(PLANNING.power, FOR_STAGES.power),
      ...of(PLANNING.plan, FOR_STAGES.plan),
    },
    epilogue:
      "The run saves the options of its stages. Hooks are programs in RUN/hooks: before-STAGE and after-STAGE, with the variables NOVA2IRONIC_RUN and NOVA2IRONIC_STAGE. If a hook fails, the run stops.",
    examples: [
      "$0 run --run m1 --until check",
      "$0 run --run m1 --until check --allow-pairing --deploy-kernel ID --deploy-ramdisk ID",
      "$0 run --run m1",
    ],
  },
} satisfies { readonly [command: string]: Declared };
