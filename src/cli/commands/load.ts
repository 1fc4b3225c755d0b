import { resolve } from "node:path";
import type { Argv } from "yargs";
import { camel, kebab, pick } from "../../run/next.ts";
import { processContext } from "../../run/process-context.ts";
import type { CommandFunctions, RunCommandOptions } from "../../window/runner/perform-stage.ts";
import { checkCombination, checkNames } from "../check-options.ts";
import { addConnections } from "../connections.ts";
import { io } from "../io.ts";
import { logTo } from "../log.ts";
import { LOADING } from "../options/apply.ts";
import { type Declared, declare, hidden, nameOf } from "../options/declared.ts";
import { HOST } from "../options/host/actions.ts";
import { ALIASES, NODE } from "../options/node/actions.ts";
import { PLANNING } from "../options/plan.ts";
import { SERVE } from "../options/serve.ts";
import { everyCommand } from "../options/shared.ts";
import { INSPECTION } from "../options/status.ts";
import { WINDOW } from "../options/window.ts";
import { printNotice } from "../print/events.ts";
import { tookText } from "../print/progress.ts";

type Work = (args: never, more: never) => Promise<void>;

type Command = readonly [options: Declared, work: () => Promise<Work>];

/** The commands as functions: `run` performs its stages in this process. */
function commandFunctions(run: RunCommandOptions): CommandFunctions {
  const voice = {
    ...pick(run, ["quiet", "json", "yes", "config", "without", "progress-interval"]),
    walked: true,
  };
  const find = (name: string): Command => {
    const found = COMMANDS.find(([options]) => options.command === name);
    if (found === undefined) throw new Error(`there is no command ${name}`);
    return found;
  };
  return {
    async options(name, values) {
      const [options] = find(name);
      const table = { ...everyCommand, ...options.options };
      const args: { [name: string]: unknown } = {};
      for (const [name, value] of Object.entries({ ...voice, ...values }))
        if (value !== undefined) args[kebab(name)] = args[camel(name)] = value;
      await addConnections(args, options);
      for (const [option, is] of Object.entries(table))
        if (is.default !== undefined) args[camel(option)] = args[option] ??= is.default;
      checkCombination(options, args);
      return args;
    },
    async perform(name, args) {
      const [, load] = find(name);
      const work = await load();
      io().status = undefined;
      // The command's own options declare them.
      await work({ format: "table", ...args } as never, {} as never);
      return io().status ?? 0;
    },
  };
}

const GROUPS: { readonly [group: string]: string } = {
  host: "Move machines between compute hosts, and take over the machines of a dead host",
  node: "Create server records for running machines, list spares, and move an instance to a spare",
  serve: "Serve os-baremetal-nodes, manageable machines or switchovers over HTTP",
};

const migration = () => import("./migration.ts");
const runs = () => import("./runs.ts");
const window = () => import("./window.ts");
const { verify: hostVerify, ...host } = HOST;

/** In the order of help. */
const COMMANDS: readonly Command[] = [
  ...from(migration, PLANNING.extract, PLANNING.power),
  ...from(() => import("./plan.ts"), PLANNING.plan),
  ...from(window, WINDOW.check, WINDOW.config),
  ...from(() => import("./show.ts"), INSPECTION.show),
  ...from(window, WINDOW.report, LOADING.rehearse),
  ...from(migration, LOADING.apply),
  ...from(runs, LOADING.verify),
  ...from(window, WINDOW.boot, WINDOW.handover, WINDOW.finish, WINDOW.retire),
  ...from(runs, LOADING.rollback, INSPECTION.status, INSPECTION.next),
  ...from(window, WINDOW.run, INSPECTION.window),
  ...from(() => import("./host.ts"), ...Object.values(host)),
  ...from(runs, hostVerify),
  ...from(() => import("./node.ts"), ...Object.values(NODE), ...Object.values(ALIASES)),
  ...from(() => import("./serve.ts"), ...Object.values(SERVE)),
  ...from(window, INSPECTION.support),
  ...from(() => import("./explain.ts"), INSPECTION.explain, INSPECTION.demo, INSPECTION.completion),
];

/** The code of commands is loaded when one of them runs, so that help and completion load no driver. */
function from(
  load: () => Promise<{ readonly commands: { readonly [command: string]: Work } }>,
  ...declared: readonly Declared[]
): readonly Command[] {
  return declared.map((options) => {
    const name = nameOf(options);
    const work = async (): Promise<Work> => {
      const { [name]: found } = (await load()).commands;
      if (found === undefined) throw new Error(`there is no command ${name}`);
      return found;
    };
    return [options, work];
  });
}

/** The options that have their default value, which yargs' types do not declare. */
function usualOf(yargs: Argv): object {
  return (yargs as unknown as { parsed: { defaulted?: object } }).parsed.defaulted ?? {};
}

/** Sets the options that `-v` implies. `verify` has its own meaning of `--all-rows`. */
function verbosely(args: { [name: string]: unknown }, command: string): void {
  if (args.verbose !== true) return;
  args.progressInterval = Math.min(Number(args.progressInterval), 1);
  if ("allRows" in args && command !== "verify") args.allRows = true;
}

export function declaredCommands(): readonly Declared[] {
  return COMMANDS.map(([options]) => options).filter(({ describe }) => describe !== false);
}

export function commandNames(): readonly string[] {
  return [...Object.keys(GROUPS), ...declaredCommands().map(nameOf)];
}

/** The actions of a group; none for any other name. */
export function actionsOf(group: string): readonly string[] {
  const names = COMMANDS.map(([options]) => nameOf(options).split(" "));
  return names.flatMap(([first, second]) =>
    first === group && second !== undefined ? [second] : [],
  );
}

/** The command or group at the start of a command line, or null. */
export function commandIn([first = "", second = ""]: readonly string[]): string | null {
  const actions = actionsOf(first);
  if (actions.length > 0) return actions.includes(second) ? `${first} ${second}` : first;
  return COMMANDS.some(([options]) => nameOf(options) === first) ? first : null;
}

/** Adds the commands and the common options. @param begin is called before a command runs */
export function addCommands(program: Argv, begin: () => void): Argv {
  const groups = new Set<string>();
  const every = isCompleting() ? everyCommand : hidden(everyCommand);
  return COMMANDS.reduce((to, command) => {
    const [{ command: declaration }] = command;
    const [group = ""] = declaration.split(" ");
    const about = GROUPS[group];
    if (about === undefined) return addCommand(to, command, declaration, begin);
    if (groups.has(group)) return to;
    groups.add(group);
    const members = COMMANDS.filter(([options]) => options.command.startsWith(`${group} `));
    return to.command(group, about, (yargs) =>
      members.reduce(
        (inner, one) => addCommand(inner, one, one[0].command.slice(group.length + 1), begin),
        yargs
          .usage(`$0 ${group} <command>\n\n${about}`)
          .demandCommand(1, `${group} needs a command`),
      ),
    );
  }, program.options(every));
}

function isCompleting(): boolean {
  return io().argv.includes("--get-yargs-completions");
}

/** @param usage the command without its group */
function addCommand(to: Argv, [options, work]: Command, usage: string, begin: () => void): Argv {
  return to.command({
    command: usage,
    describe: options.describe,
    builder(yargs, isHelp = false) {
      const common = { every: everyCommand, hide: !isCompleting() };
      const parser = declare(yargs.group([], "Options:"), options, common);
      // yargs runs middlewares for help as well.
      if (isHelp) return parser;
      return parser
        .middleware(() => checkNames(options), true)
        .middleware((args) => addConnections(args, options, usualOf(yargs)), true)
        .middleware((args) => checkCombination(options, args), true)
        .middleware(async (args: { readonly [option: string]: unknown }) => {
          // Loads the views only if the command line names columns.
          if ([args.match, args.column, args.sortColumn].some(Array.isArray))
            (await import("../views/columns.ts")).checkColumns(nameOf(options), args);
        })
        .middleware(({ run, noWindow }: { readonly [option: string]: unknown }) => {
          if (typeof noWindow === "string") processContext().window.outside = noWindow;
          // yargs has accepted the command line, so its --run is valid.
          if (typeof run === "string" && options.serves !== true) logTo(resolve(io().cwd(), run));
        });
    },
    async handler(args) {
      begin();
      const run = await work();
      if (typeof args.dbTimeout === "number")
        processContext().databaseTimeout = args.dbTimeout * 1000;
      verbosely(args, nameOf(options));
      const more = { program: to, stages: commandFunctions };
      await run({ format: "table", ...args } as never, more as never);
      const text = args.verbose === true ? tookText() : null;
      if (text !== null) printNotice(text);
    },
  });
}
