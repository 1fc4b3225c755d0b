import yargs from "yargs";
import { MigrationError } from "../lib/error.ts";
import { didYouMean, nearest } from "../lib/table/nearest.ts";
import { CHECK_STATUS } from "../model/check.ts";
import { topics } from "../run/files/manual.ts";
import { ALL_DECISIONS, CONNECTIONS, kebab } from "../run/next.ts";
import { VERSION } from "../run/version.ts";
import { bare } from "./bare.ts";
import {
  actionsOf,
  addCommands,
  commandIn,
  commandNames,
  declaredCommands,
} from "./commands/load.ts";
import { beginCommand, onInterrupt } from "./interrupt.ts";
import { type Io, io, isForMachines, within } from "./io.ts";
import { log } from "./log.ts";
import { nameOf } from "./options/declared.ts";
import { emitExit, errorText, exitStatus, outOfFiles, refusalOf } from "./print/error.ts";
import { aside, createEvents, waiting } from "./print/events.ts";
import { onLost } from "./print/out.ts";
import { checkExitName } from "./views/checks.ts";
import { exitName, isCode } from "./views/explain.ts";

/**
 * Runs one command line to its end, in the world that it is given.
 *
 * What yargs prints by itself (help, version, completion) goes to the process, and ends it.
 *
 * @param stalled rejects when nothing is left that it could go on by
 * @returns the exit status
 */
export function run(world: Io, stalled?: Promise<never>): Promise<number> {
  return within(world, { tell: aside, wait: waiting, onInterrupt }, async () => {
    /** `check` has nova-status's exit statuses, not the tool's. */
    const checks = world.words.find((word) => !word.startsWith("-")) === "check";
    const events = (): ReturnType<typeof createEvents> => createEvents(world.stderr, Date.now);
    beginCommand();
    try {
      const ended = work(world);
      await (stalled === undefined ? ended : Promise.race([ended, stalled]));
    } catch (caught) {
      const error = outOfFiles(caught);
      log("refused", refusalOf(error));
      const status = checks ? CHECK_STATUS.Error.status : exitStatus(error);
      // Ctrl-C has set its own status already; a refusal that follows from it does not hide it.
      if (world.status !== 130 && world.status !== 143) world.status = status;
      if (isForMachines()) events()("diagnostic", refusalOf(error));
      else world.stderr.write(errorText(error, { debug: world.words.includes("--debug") }));
    }
    const status = world.status ?? 0;
    log("end", { status, name: checks ? checkExitName(status) : exitName(status) });
    if (isForMachines()) emitExit(events(), status, checks ? checkExitName : exitName);
    return status;
  });
}

async function work(world: Io): Promise<void> {
  const lost = onLost(world.stdout);
  world.cwd();
  const words = await asked(world.words);
  if (words !== null) await command(words);
  await lost();
}

/** The command line in full: `help plan` is `plan --help`, `help runbook` is `explain runbook`; null if all is done. */
async function asked(words: readonly string[]): Promise<readonly string[] | null> {
  const [first, ...rest] = words;
  if (first === undefined) return bare();
  if (first !== "help") return words;
  const [topic] = rest;
  // Whatever stands behind it is not done.
  if (topic === undefined) return ["--help"];
  const found = commandIn(rest);
  if (found !== null) return [...found.split(" "), "--help"];
  const pages = topics();
  if (rest.every((word) => isCode(word) || pages.includes(word))) return ["explain", ...rest];
  const meant = didYouMean(nearest(topic, [...commandNames(), ...pages]));
  throw new MigrationError("N2I-E100", `there is no command or topic ${JSON.stringify(topic)}`, {
    fix: `${meant}List all with: nova2ironic help`,
  });
}

async function command(words: readonly string[]): Promise<void> {
  checkWords(words);
  const program = yargs([...words])
    .scriptName("nova2ironic")
    // All texts of this program are English.
    .locale("en")
    .usage("$0 <command>\n\nMoves a nova-baremetal deployment to OpenStack Ironic.")
    .parserConfiguration({
      "boolean-negation": false, // --no-window takes a reason
      "dot-notation": false,
      "parse-numbers": false,
      "parse-positional-numbers": false,
      "duplicate-arguments-array": true,
      "greedy-arrays": false,
    });
  keepNoHelp(program);
  await addCommands(program)
    .epilogue(`Manual: nova2ironic help TOPIC, which is one of\n  ${topics().join(", ")}`)
    .completion("completion", "Print a completion script for bash, or for zsh if SHELL is zsh")
    .demandCommand(1, NO_COMMAND)
    .recommendCommands()
    .strict()
    .check((args) => checkRepeated(program, args))
    .check(checkWithout)
    .version(VERSION)
    .alias("help", "h")
    .hide("help")
    .hide("version")
    .fail((message, error) => usage(message, error))
    .wrap(Math.min(100, io().stdout.columns || 100))
    .parseAsync()
    // Behind something that it waits for, yargs throws past `fail`.
    .catch((error: unknown) => usage(null, error as Error));
}

/** yargs renders the help of each command that it runs, and nobody here asks for it afterwards: 30 ms or more. */
function keepNoHelp(program: object): void {
  // Of yargs 18; its types do not have it.
  const { getInternalMethods } = program as {
    getInternalMethods: () => { getUsageInstance: () => { cacheHelpMessage: () => void } };
  };
  getInternalMethods.call(program).getUsageInstance().cacheHelpMessage = () => {};
}

const NO_COMMAND = "no command";

/** A wrong command line: what yargs says of it, with our code. */
function usage(message: string | null, error: Error | undefined): never {
  // What yargs itself throws speaks of the command line; everything else comes from a command.
  if (error !== undefined && error.name !== "YError") throw error;
  const said = message ?? error?.message ?? "the command line is wrong";
  const { words } = io();
  const begins = words.find((word) => word !== "help") ?? "";
  const at = words.findIndex((word) => commandIn([word]) !== null);
  const [group = begins, ...rest] = at < 0 ? [] : words.slice(at);
  const actions = actionsOf(group);
  const action = rest.find((word) => actions.includes(word));
  if (actions.length > 0 && action === undefined) {
    const [second = "-"] = rest;
    const is = second.startsWith("-") ? "wants a command" : `knows no ${JSON.stringify(second)}`;
    const fix = `${didYouMean(nearest(second, actions))}It takes one of ${actions.join(", ")}.`;
    throw new MigrationError("N2I-E100", `${group} ${is}`, { fix });
  }
  const first = action === undefined ? group : `${group} ${action}`;
  if (said === NO_COMMAND) {
    const before = begins === "" ? "" : ` before ${begins}`;
    const fix =
      "Give the command first, and its options after it. List all commands with: nova2ironic help";
    throw new MigrationError("N2I-E100", `no command is given${before}`, { fix });
  }
  if (said.startsWith("Did you mean "))
    throw new MigrationError("N2I-E100", `there is no command ${JSON.stringify(first)}`, {
      fix: `${said} List all commands with: nova2ironic help`,
    });
  throw inOurWords(first, said) ?? new MigrationError("N2I-E100", said.replaceAll("\n", " "));
}

/** What yargs says most often; null for the rest. @source yargs 18, lib/validation.ts, locales/en.json */
function inOurWords(command: string, said: string): MigrationError | null {
  const [, name, given = "", all = ""] =
    /Argument: ([\w-]+), Given: (".*"), Choices: (.*)$/s.exec(said) ?? [];
  if (name !== undefined) {
    const choices = all.split(", ").map((one) => one.replaceAll('"', ""));
    const isPositional = declarationOf(command).includes(`<${name}>`);
    const what = isPositional ? `${command} knows` : `--${name} takes`;
    const fix = `${didYouMean(nearest(given.replaceAll('"', ""), choices))}It takes one of ${choices.join(", ")}.`;
    return new MigrationError("N2I-E100", `${what} no ${given}`, { fix });
  }
  const [, missing] = /^Missing required arguments?: (.*)$/s.exec(said) ?? [];
  if (missing !== undefined) {
    const names = missing.split(", ");
    const isInFile = names.every((one) => one === "run" || CONNECTIONS.includes(one));
    const fix = `Give it${isInFile ? ", or set it in nova2ironic.yaml" : ""}; ${command} --help describes it.`;
    const options = names.map((one) => `--${one}`).join(", ");
    return new MigrationError("N2I-E100", `${command} wants ${options}`, { fix });
  }
  const [, surplus] = /^Unknown arguments?: (.*)$/s.exec(said) ?? [];
  if (surplus !== undefined)
    return new MigrationError("N2I-E100", `${command} takes no argument ${surplus}`, {
      fix: `Remove it; ${command} --help has the arguments and options. Quote a value that contains spaces.`,
    });
  const [, word] = / (<\w+>)/.exec(declarationOf(command)) ?? [];
  if (word === undefined || !said.startsWith("Not enough non-option arguments")) return null;
  const fix = `Give it, as in: ${declarationOf(command)}; ${command} --help says what it may be.`;
  return new MigrationError("N2I-E100", `${command} wants ${word}`, { fix });
}

function declarationOf(name: string): string {
  return declaredCommands().find((one) => nameOf(one) === name)?.command ?? name;
}

/** What files of connections may say, and nothing else, can be left out. */
function checkWithout({ without }: { readonly [option: string]: unknown }): true {
  const all = [...CONNECTIONS, ...ALL_DECISIONS];
  const wrong = [without ?? []]
    .flat()
    .map(String)
    .find((name) => !all.includes(name));
  if (wrong === undefined) return true;
  const fix = `${didYouMean(nearest(wrong, all))}It takes one of ${all.join(", ")}.`;
  throw new MigrationError("N2I-E100", `--without takes no ${JSON.stringify(wrong)}`, { fix });
}

/** Of two values for an option that takes one, neither is the one that is meant. */
function checkRepeated(program: object, given: { readonly [option: string]: unknown }): true {
  // Of yargs 18; its types do not have it. Those that may be repeated.
  const { getOptions } = program as { getOptions: () => { readonly array: readonly string[] } };
  const lists = new Set(getOptions.call(program).array);
  for (const [option, value] of Object.entries(given)) {
    const name = kebab(option);
    if (Array.isArray(value) && name.length > 1 && !lists.has(name))
      throw new MigrationError("N2I-E100", `--${name} is given more than once`);
  }
  return true;
}

/** `://user:password@`; what looks like a port and is followed by a path is no password. */
const LOGIN = /:\/\/[^:/@\s]*:(?!\d{1,5}(?:[/?]|$))[^@]+@|\bhttps?:\/\/[^/@?#\s]+@/s;
const QUERY = /:\/\/.*[?&][\w-]*(?:pass|pwd)[\w-]*=[^&]/is;

/** What is said of addresses that are no database's. */
const NO_LOGIN: { readonly [option: string]: string } = {
  "--ironic-url": "Give user and password in OS_* variables or in clouds.yaml (--os-cloud).",
  "--keystone-url": "Leave user and password out: Keystone is asked by each caller's own token.",
};

/**
 * Looks at the command line before it is parsed: what is wrong with it is refused by quoting it, and an
 * address with its password may stand where no option wants one.
 *
 * @throws MigrationError N2I-E101 naming the option, never the address
 */
function checkWords(words: readonly string[]): void {
  for (const [at, word] of words.entries()) {
    if (!LOGIN.test(word) && !QUERY.test(word)) continue;
    const before = words[at - 1] ?? "";
    const [option] = /^--?[\w-]+(?==)/.exec(word) ?? /^--?[\w-]+$/.exec(before) ?? ["an argument"];
    const fix = Object.hasOwn(NO_LOGIN, option) ? NO_LOGIN[option] : undefined;
    const text = `${option}: the address holds a password`;
    throw new MigrationError("N2I-E101", text, fix === undefined ? {} : { fix });
  }
}
