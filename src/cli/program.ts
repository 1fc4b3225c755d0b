import yargs from "yargs";
import { MigrationError } from "../lib/error.ts";
import { didYouMean, nearest } from "../lib/table/nearest.ts";
import { CHECK_STATUS } from "../model/check.ts";
import { topics } from "../run/files/manual.ts";
import { kebab } from "../run/next.ts";
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

/** @param stalled rejects when the process has nothing to wait for @returns the exit status */
export function run(world: Io, stalled?: Promise<never>): Promise<number> {
  return within(world, { tell: aside, wait: waiting, onInterrupt }, async () => {
    /** `check` has the exit statuses of nova-status. */
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
      // Ctrl-C has set its own status, which an error that follows from it must not hide.
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
  world.cwd(); // throws if the folder was deleted
  const words = await asked(world.words);
  if (words !== null) await command(words);
  await lost();
}

/** Completes the command line: `help plan` is `plan --help`. Null if nothing remains to run. */
async function asked(words: readonly string[]): Promise<readonly string[] | null> {
  const [first, ...rest] = words;
  if (first === undefined) return bare();
  const [topic] = rest;
  if (topic === "help" && actionsOf(first).length > 0)
    return asked(["help", first, ...rest.slice(1)]);
  if (first !== "help") return words;
  if (topic === undefined || ["-h", "--help"].includes(topic)) return ["--help"];
  const found = commandIn(rest);
  if (found === topic && rest[1]?.startsWith("-") === false) checkAction(topic, rest.slice(1));
  if (found !== null) return [...found.split(" "), "--help"];
  const pages = topics();
  if (rest.every((word) => isCode(word) || pages.includes(word))) return ["explain", ...rest];
  const meant = didYouMean(nearest(topic, [...commandNames(), ...pages]));
  throw new MigrationError("N2I-E100", `there is no command or topic ${JSON.stringify(topic)}`, {
    fix: `${meant}List all with: nova2ironic help`,
  });
}

async function command(words: readonly string[]): Promise<void> {
  checkArguments(words);
  const program = yargs([...words])
    .scriptName("nova2ironic")
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
  let isDone = words.includes("--get-yargs-completions");
  // With a callback, yargs neither prints help and version itself nor ends the process. Completions need it.
  const print = (_error: unknown, _args: unknown, text: string): void => {
    if (text !== "") io().stdout.write(`${text}\n`);
    isDone ||= text !== "";
  };
  await addCommands(program, () => {
    isDone = true;
  })
    .epilogue(`Manual: nova2ironic help TOPIC. The topics are\n  ${topics().join(", ")}`)
    .demandCommand(1, NO_COMMAND)
    .recommendCommands()
    .strict()
    .check((args) => checkRepeated(program, args))
    .version(VERSION)
    .alias("help", "h")
    .hide("help")
    .hide("version")
    .fail((message, error) => usage(message, error))
    .wrap(Math.min(100, io().stdout.columns || 100))
    .parseAsync([...words], {}, isDone ? undefined : print)
    // After an asynchronous step, yargs throws instead of calling `fail`.
    .catch((error: unknown) => usage(null, error as Error));
  // For `-- host list`, yargs does not recognize the command.
  if (!isDone) usage(NO_COMMAND, undefined);
}

/** yargs 18 renders the unused help of each command that it runs, which takes 30 ms or more. */
function keepNoHelp(program: object): void {
  const { getInternalMethods } = program as {
    getInternalMethods: () => { getUsageInstance: () => { cacheHelpMessage: () => void } };
  };
  getInternalMethods.call(program).getUsageInstance().cacheHelpMessage = () => {};
}

const NO_COMMAND = "no command";

/** Replaces yargs' message for a wrong command line with our text and code. */
function usage(message: string | null, error: Error | undefined): never {
  // A YError is about the command line. Any other error comes from a command.
  if (error !== undefined && error.name !== "YError") throw error;
  const said = message ?? error?.message ?? "the command line is wrong";
  const { words } = io();
  const at = words.findIndex((word) => commandIn([word]) !== null);
  const [first = words.find((word) => word !== "help"), ...rest] = at < 0 ? [] : words.slice(at);
  const action = first === undefined ? undefined : checkAction(first, rest);
  const list = "List all commands with: nova2ironic help";
  const [before] = words.includes("--") ? ["--"] : words;
  const [text, fix] =
    said === NO_COMMAND || !first
      ? [
          `no command was specified${before === undefined ? "" : ` before ${before || '""'}`}`,
          `Specify the command first, and then its options. ${list}`,
        ]
      : said.startsWith("Did you mean ")
        ? [`there is no command ${JSON.stringify(first)}`, `${said} ${list}`]
        : translatedMessage(action === undefined ? first : `${first} ${action}`, said);
  throw new MigrationError("N2I-E100", text, fix === undefined ? {} : { fix });
}

/** The second word of a command of two words. @throws MigrationError N2I-E100 without it */
function checkAction(group: string, rest: readonly string[]): string | undefined {
  const actions = actionsOf(group);
  const action = rest.find((word) => actions.includes(word));
  if (actions.length === 0 || action !== undefined) return action;
  const [second = "-"] = rest;
  const is = second.startsWith("-")
    ? "needs a command"
    : `has no command ${JSON.stringify(second)}`;
  const fix = `${didYouMean(nearest(second, actions))}Its commands: ${actions.join(", ")}.`;
  throw new MigrationError("N2I-E100", `${group} ${is}`, { fix });
}

/** Yargs' most frequent messages. @source yargs 18, lib/validation.ts, locales/en.json */
function translatedMessage(command: string, said: string): readonly [text: string, fix?: string] {
  const help = `Help: ${command} --help`;
  const [, name, given = "", all = ""] =
    /Argument: ([\w-]+), Given: (".*"), Choices: (.*)$/s.exec(said) ?? [];
  if (name !== undefined) {
    const choices = all.split(", ").map((one) => one.replaceAll('"', ""));
    const isPositional = declarationOf(command).includes(`<${name}>`);
    const near = didYouMean(nearest(given.replaceAll('"', ""), choices));
    return [
      `${isPositional ? `<${name}> of ${command}` : `--${name}`} cannot be ${given}`,
      `${near}The allowed values are ${choices.join(", ")}.`,
    ];
  }
  const [, surplus] = /^Unknown arguments?: (.*)$/s.exec(said) ?? [];
  if (surplus !== undefined)
    return [
      `${command} does not accept the argument ${surplus}`,
      `Remove it. Quote a value that contains spaces. ${help}`,
    ];
  const [, empty] = /^Not enough arguments following: (.*)$/.exec(said) ?? [];
  if (empty !== undefined) return [`--${empty} needs a value`, help];
  const [, word] = / (<\w+>)/.exec(declarationOf(command)) ?? [];
  return word === undefined || !said.startsWith("Not enough non-option arguments")
    ? [said.replaceAll("\n", " ")]
    : [`${command} needs ${word}`, `Add it, as in: ${declarationOf(command)}. ${help}`];
}

function declarationOf(name: string): string {
  return declaredCommands().find((one) => nameOf(one) === name)?.command ?? name;
}

/** Refuses two values for an option that accepts one. */
function checkRepeated(program: object, given: { readonly [option: string]: unknown }): true {
  // The options that may be repeated: internal in yargs 18.
  const { getOptions } = program as { getOptions: () => { readonly array: readonly string[] } };
  const lists = new Set(getOptions.call(program).array);
  for (const [option, value] of Object.entries(given)) {
    const name = kebab(option);
    if (Array.isArray(value) && name.length > 1 && !lists.has(name))
      throw new MigrationError("N2I-E100", `--${name} is specified more than once`);
  }
  return true;
}

/** `://user:password@`. A port that is followed by a path is not a password. */
const LOGIN = /:\/\/[^:/@\s]*:(?!\d{1,5}(?:[/?]|$))[^@]+@|\bhttps?:\/\/[^/@?#\s]+@/s;
const QUERY = /:\/\/.*[?&][\w-]*(?:pass|pwd)[\w-]*=[^&]/is;

/** Fixes for addresses of other services than databases. */
const NO_LOGIN: { readonly [option: string]: string } = {
  "--ironic-url": "Specify user and password in OS_* variables or in clouds.yaml (--os-cloud).",
  "--keystone-url": "Omit user and password. Keystone is queried with each caller's own token.",
};

/**
 * An error message would quote the password. @throws MigrationError N2I-E101 with the option only
 */
function checkArguments(words: readonly string[]): void {
  for (const [at, word] of words.entries()) {
    if (!LOGIN.test(word) && !QUERY.test(word)) continue;
    const before = words[at - 1] ?? "";
    const [option] = /^--?[\w-]+(?==)/.exec(word) ?? /^--?[\w-]+$/.exec(before) ?? ["an argument"];
    const fix = Object.hasOwn(NO_LOGIN, option) ? NO_LOGIN[option] : undefined;
    const text = `${option}: the address contains a password`;
    throw new MigrationError("N2I-E101", text, fix === undefined ? {} : { fix });
  }
}
