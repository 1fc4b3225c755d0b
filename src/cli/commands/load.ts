import { resolve } from "node:path";
import type { Argv } from "yargs";
import { MigrationError } from "../../lib/error.ts";
import { nearest } from "../../lib/table/nearest.ts";
import { camel, kebab } from "../../run/next.ts";
import { surroundings } from "../../run/process-context.ts";
import type { Hands } from "../../window/runner/command-lines.ts";
import { addConnections } from "../connections.ts";
import { io } from "../io.ts";
import { logTo } from "../log.ts";
import { applyOptions } from "../options/apply.ts";
import { type Declared, declare } from "../options/declared.ts";
import { demoOptions } from "../options/demo.ts";
import { everyCommand } from "../options/every.ts";
import { explainOptions } from "../options/explain.ts";
import { extractOptions } from "../options/extract.ts";
import { hostOptions } from "../options/host/host.ts";
import { nextOptions } from "../options/next.ts";
import {
  adoptableOptions,
  manageOptions,
  type NodeArgs,
  nodeOptions,
  nodeSwitchoverOptions,
  unmanageOptions,
} from "../options/node/node.ts";
import { planOptions } from "../options/plan.ts";
import { powerOptions } from "../options/power.ts";
import { rollbackOptions } from "../options/rollback.ts";
import { serveOptions } from "../options/serve.ts";
import { showOptions } from "../options/show.ts";
import { statusOptions } from "../options/status.ts";
import { verifyOptions } from "../options/verify.ts";
import { bootOptions } from "../options/window/boot.ts";
import { checkOptions } from "../options/window/check.ts";
import { configOptions } from "../options/window/config.ts";
import { finishOptions } from "../options/window/finish.ts";
import { handoverOptions } from "../options/window/handover.ts";
import { rehearseOptions } from "../options/window/rehearse.ts";
import { reportOptions } from "../options/window/report.ts";
import { retireOptions } from "../options/window/retire.ts";
import { type RunArgs, runOptions } from "../options/window/run.ts";
import { supportOptions } from "../options/window/support.ts";
import { windowOptions } from "../options/window/window.ts";
import { aside } from "../print/events.ts";
import { tookText, verbosely } from "../verbose.ts";

interface Command {
  readonly options: Declared;
  /** What it does is loaded when it is run: help, completion and a typing error wait for no driver. */
  readonly work: () => Promise<(args: never) => Promise<void>>;
}

/** Its first form names two nodes, and `--spares` lists what could be the second. */
async function switching(): ReturnType<Command["work"]> {
  const { nodeCommand } = await import("./node/node.ts");
  return (args: NodeArgs) =>
    nodeCommand({ ...args, action: args.spares === true ? "list" : "switchover" });
}

async function walking(): ReturnType<Command["work"]> {
  const { runCommand } = await import("./window/run.ts");
  return (args: RunArgs) => runCommand(args, handsOf(args));
}

/** The commands as functions: what `run` walks is called in this process, and none is started. */
function handsOf({ quiet, json, progressInterval, yes, config, without }: RunArgs): Hands {
  const voice = {
    ...{ quiet, json, yes, config, without, "progress-interval": progressInterval },
    walked: true,
  };
  const find = (name: string): Command => {
    const found = COMMANDS.find(({ options }) => options.command === name);
    if (found === undefined) throw new Error(`there is no command ${name}`);
    return found;
  };
  return {
    async options(name, words) {
      const { options } = find(name);
      const table = { ...everyCommand, ...options.options };
      const args: { [name: string]: unknown } = {};
      for (const [name, value] of Object.entries({ ...voice, ...words }))
        if (value !== undefined) args[kebab(name)] = args[camel(name)] = value;
      await addConnections(args, options);
      for (const [option, is] of Object.entries(table))
        if (is.default !== undefined) args[camel(option)] = args[option] ??= is.default;
      const missing = Object.entries(table).find(
        ([option, { demandOption }]) => demandOption === true && args[option] === undefined,
      );
      if (missing === undefined) return args;
      throw new MigrationError("N2I-E100", `${name} wants --${missing[0]}`, {
        fix: `Say it in nova2ironic.yaml, or give ${name} its options once: the run saves them.`,
      });
    },
    async perform(name, args) {
      const work = await find(name).work();
      io().status = undefined;
      await work(args as never); // as the command's own table declares them
      return io().status ?? 0;
    },
  };
}

/** Every command, in the order help lists them. */
const COMMANDS: readonly Command[] = [
  { options: extractOptions, work: async () => (await import("./extract.ts")).extractCommand },
  { options: powerOptions, work: async () => (await import("./power.ts")).powerCommand },
  { options: planOptions, work: async () => (await import("./plan.ts")).planCommand },
  { options: checkOptions, work: async () => (await import("./window/check.ts")).checkCommand },
  { options: configOptions, work: async () => (await import("./window/config.ts")).configCommand },
  { options: showOptions, work: async () => (await import("./show.ts")).showCommand },
  { options: reportOptions, work: async () => (await import("./window/report.ts")).reportCommand },
  {
    options: rehearseOptions,
    work: async () => (await import("./window/rehearse.ts")).rehearseCommand,
  },
  { options: applyOptions, work: async () => (await import("./apply.ts")).applyCommand },
  { options: verifyOptions, work: async () => (await import("./verify.ts")).verifyCommand },
  { options: bootOptions, work: async () => (await import("./window/boot.ts")).bootCommand },
  {
    options: handoverOptions,
    work: async () => (await import("./window/handover.ts")).handoverCommand,
  },
  { options: finishOptions, work: async () => (await import("./window/finish.ts")).finishCommand },
  { options: retireOptions, work: async () => (await import("./window/retire.ts")).retireCommand },
  { options: rollbackOptions, work: async () => (await import("./rollback.ts")).rollbackCommand },
  { options: statusOptions, work: async () => (await import("./status.ts")).statusCommand },
  { options: nextOptions, work: async () => (await import("./next.ts")).nextStepCommand },
  { options: runOptions, work: walking },
  { options: windowOptions, work: async () => (await import("./window/window.ts")).windowCommand },
  { options: hostOptions, work: async () => (await import("./host/host.ts")).hostCommand },
  { options: nodeOptions, work: async () => (await import("./node/node.ts")).nodeCommand },
  {
    options: adoptableOptions,
    work: async () => (await import("./node/adoptable.ts")).adoptableCommand,
  },
  { options: manageOptions, work: async () => (await import("./node/manage.ts")).manageCommand },
  {
    options: unmanageOptions,
    work: async () => (await import("./node/manage.ts")).unmanageCommand,
  },
  { options: nodeSwitchoverOptions, work: switching },
  { options: serveOptions, work: async () => (await import("./serve.ts")).serveCommand },
  {
    options: supportOptions,
    work: async () => (await import("./window/support.ts")).supportCommand,
  },
  { options: explainOptions, work: async () => (await import("./explain.ts")).explainCommand },
  { options: demoOptions, work: async () => (await import("./demo.ts")).demoCommand },
];

/**
 * A typing error is named before what it made look missing.
 *
 * @throws MigrationError N2I-E100
 */
function checkNames({ command, options = {} }: Declared): void {
  const all = { ...everyCommand, ...options };
  const aliases = Object.values(all).flatMap(({ alias = [] }) => alias);
  const known = [...Object.keys(all), ...aliases, "help", "h", "version"];
  const { words } = io();
  const end = words.indexOf("--");
  for (const word of end < 0 ? words : words.slice(0, end)) {
    const [, dashes = "", said = ""] = /^(--?)([a-z][\w-]*)/i.exec(word) ?? [];
    // yargs takes camel case, and several aliases after one dash.
    const names = dashes === "-" ? [...said] : [kebab(said)];
    if (said === "" || names.every((name) => known.includes(name))) continue;
    const near = dashes === "-" ? spaced(said, known) : nearest(kebab(said), known).map(long);
    const [own = ""] = command.split(" ");
    const meant = near.length > 0 ? `Did you mean ${near.join(" or ")}? ` : "";
    throw new MigrationError("N2I-E100", `${own} has no option ${dashes}${said}`, {
      fix: `${meant}Run ${own} with --help for all.`,
    });
  }
}

function long(name: string): string {
  return `--${name}`;
}

/** `-f json` of `-fjson`, which yargs takes for five options. */
function spaced(letters: string, known: readonly string[]): readonly string[] {
  if (known.includes(letters)) return [long(letters)];
  const [first = "", ...rest] = letters;
  return rest.length > 0 && known.includes(first) ? [`-${first} ${rest.join("")}`] : [];
}

/** Views are loaded only for a command line that names columns. @throws MigrationError N2I-E100 */
async function checkColumnOptions(
  { command }: Declared,
  args: { readonly [option: string]: unknown },
): Promise<void> {
  if (!["match", "column", "sortColumn"].some((name) => Array.isArray(args[name]))) return;
  const { checkColumns } = await import("../views/columns.ts");
  checkColumns(command.split(" ")[0] ?? "", args);
}

/** The options of the command line under way that have their default value: yargs' types do not have them. */
function usualOf(yargs: Argv): object {
  const { parsed } = yargs as unknown as { parsed: { readonly defaulted: object } | false };
  return parsed === false ? {} : parsed.defaulted;
}

function logged({ serves }: Declared, args: { readonly [name: string]: unknown }): void {
  const { run, noWindow } = args;
  if (typeof noWindow === "string") surroundings().window.outside = noWindow;
  if (typeof run === "string" && serves !== true) logTo(resolve(io().cwd(), run));
}

/** Every command that help lists, as it is declared. */
export function declaredCommands(): readonly Declared[] {
  return COMMANDS.map(({ options }) => options).filter(({ describe }) => describe !== false);
}

export function commandNames(): readonly string[] {
  return declaredCommands().map(({ command }) => command.split(" ")[0] ?? "");
}

/** Whether a word is the name of a command. */
export function isCommand(word: string): boolean {
  return COMMANDS.some(({ options: { command } }) => command.split(" ")[0] === word);
}

/** The program with its commands. */
export function addCommands(program: Argv): Argv {
  return COMMANDS.reduce(
    (to, { options, work }) =>
      to.command({
        command: options.command,
        describe: options.describe,
        builder: (yargs) =>
          declare(yargs.group([], "Options:"), options)
            .middleware(() => checkNames(options), true)
            .middleware((args) => addConnections(args, options, usualOf(yargs)), true)
            .middleware((args) => checkColumnOptions(options, args))
            // What yargs finds wrong stands in no log: it may be the name of the run.
            .middleware((args) => logged(options, args)),
        async handler(args) {
          const run = await work();
          // What yargs made of the options that stand beside it.
          verbosely(args, options.command);
          await run(args as never);
          const text = args.verbose === true ? tookText() : null;
          if (text !== null) aside(text);
        },
      }),
    program,
  );
}
