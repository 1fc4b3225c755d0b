import { existsSync, statSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import yargs from "yargs";
import { MigrationError } from "../lib/error.ts";
import { didYouMean, nearest } from "../lib/table/match.ts";
import { CHECK_STATUS } from "../model/check.ts";
import { topics } from "../run/files/manual.ts";
import { nextCommand } from "../run/next.ts";
import { VERSION } from "../run/version.ts";
import {
  actionsOf,
  addCommands,
  commandIn,
  commandNames,
  declaredCommands,
} from "./commands/load.ts";
import { configuredRun } from "./connections.ts";
import { beginCommand, onInterrupt } from "./interrupt.ts";
import { type Io, io, isForMachines, within } from "./io.ts";
import { log } from "./log.ts";
import { nameOf } from "./options/declared.ts";
import { errorText, exitStatus, outOfFiles, refusalOf } from "./print/error.ts";
import { createEvents, printNotice, waiting } from "./print/events.ts";
import { onLost } from "./print/out.ts";
import { checkExitName } from "./views/checks.ts";
import { exitName, isCode } from "./views/explain.ts";

/** @param stalled rejects when the process has nothing to wait for @returns the exit status */
export function run(processIo: Io, stalled?: Promise<never>): Promise<number> {
  return within(processIo, { report: printNotice, wait: waiting, onInterrupt }, async () => {
    /** `check` has the exit statuses of nova-status. */
    const checks = processIo.argv.find((arg) => !arg.startsWith("-")) === "check";
    const emit = createEvents(processIo.stderr);
    beginCommand();
    try {
      const ended = work(processIo);
      await (stalled === undefined ? ended : Promise.race([ended, stalled]));
    } catch (caught) {
      const error = outOfFiles(caught);
      log("refused", refusalOf(error));
      const status = checks ? CHECK_STATUS.Error.status : exitStatus(error);
      // Ctrl-C has set its own status, which an error that follows from it must not hide.
      if (processIo.status !== 130 && processIo.status !== 143) processIo.status = status;
      if (isForMachines()) emit("diagnostic", refusalOf(error));
      else processIo.stderr.write(errorText(error, { debug: processIo.argv.includes("--debug") }));
    }
    const status = processIo.status ?? 0;
    const name = checks ? checkExitName(status) : exitName(status);
    log("end", { status, name });
    // The last line. Consumers treat an unknown name as a failure.
    if (isForMachines()) emit("exit", { code: status, name });
    return status;
  });
}

async function work(processIo: Io): Promise<void> {
  const lost = onLost(processIo.stdout);
  processIo.cwd(); // throws if the folder was deleted
  const argv = await completeArgs(processIo.argv);
  if (argv !== null) await command(argv);
  await lost();
}

/** Completes the command line: `help plan` is `plan --help`. Null if nothing remains to run. */
async function completeArgs(argv: readonly string[]): Promise<readonly string[] | null> {
  const [first, ...rest] = argv;
  if (first === undefined) return bare();
  const [topic] = rest;
  if (topic === "help" && actionsOf(first).length > 0)
    return completeArgs(["help", first, ...rest.slice(1)]);
  if (first !== "help") return argv;
  if (topic === undefined || ["-h", "--help"].includes(topic)) return ["--help"];
  const found = commandIn(rest);
  if (found === topic && rest[1]?.startsWith("-") === false) checkAction(topic, rest.slice(1));
  if (found !== null) return [...found.split(" "), "--help"];
  const pages = topics();
  if (rest.every((arg) => isCode(arg) || pages.includes(arg))) return ["explain", ...rest];
  const meant = didYouMean(nearest(topic, [...commandNames(), ...pages]));
  throw new MigrationError("N2I-E100", `there is no command or topic ${JSON.stringify(topic)}`, {
    fix: `${meant}List all with: nova2ironic help`,
  });
}

/** At most 25 lines. */
const INTRODUCTION = `${VERSION} moves a nova-baremetal deployment to OpenStack Ironic.

Try it           nova2ironic demo
Read             extract, power, plan, check, config, show, report
Rehearse         rehearse, on restored copies of the databases
Load             apply, verify, boot, handover, finish, retire
All in order     run does the steps from extract to finish, and asks before each one that writes
Undo             rollback
Follow           status, next, window, support
Compute hosts    host list, plan, move, takeover, readmit, verify, agent, schema
Machines in use  node list, manage, unmanage, switchover
Services         serve proxy, manageable, switchover

The commands under Read do not write to any database, only to the run's folder (--run).
No migration command powers a machine on or off.

Help     nova2ironic COMMAND --help, nova2ironic help for every command, nova2ironic explain CODE
Manual   nova2ironic help TOPIC: quickstart, night, runbook, going-back, codes, ...
`;

/** Without arguments: `status` of the run in this folder, otherwise the introduction. */
async function bare(): Promise<readonly string[] | null> {
  const configured = await configuredRun();
  if (configured !== null && existsSync(join(configured, "run.json"))) return ["status"];
  const { cwd, stdout, stderr } = io();
  const { kindOf } = await import("../run/files/run-kind.ts");
  const ignored: string[] = [];
  for (const run of await runsIn(cwd())) {
    const cause: unknown = await kindOf({ path: join(cwd(), run) }).then(
      () => null,
      (error) => error,
    );
    if (cause === null) return ["status", "--run", run];
    if (!(cause instanceof MigrationError)) throw cause;
    const restore = nextCommand("status", { run });
    ignored.push(
      `Ignored: ${cause.message} (${cause.code}). If it is a run, ${restore} shows how to restore it.\n`,
    );
  }
  stdout.write(INTRODUCTION);
  stderr.write(ignored.join(""));
  return null;
}

/** The folder itself if it is a run, otherwise the runs in it, newest first. */
async function runsIn(here: string): Promise<readonly string[]> {
  if (existsSync(join(here, "run.json"))) return ["."];
  // The user may not be allowed to list the folder.
  const found = (await readdir(here, { withFileTypes: true }).catch(() => []))
    .filter((entry) => entry.isDirectory() && existsSync(join(here, entry.name, "run.json")))
    .map(({ name }) => ({ name, at: statSync(join(here, name)).mtimeMs }));
  return found.toSorted((one, other) => other.at - one.at).map(({ name }) => name);
}

async function command(argv: readonly string[]): Promise<void> {
  checkArguments(argv);
  const program = yargs([...argv])
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
  let isDone = argv.includes("--get-yargs-completions");
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
    .version(VERSION)
    .alias("help", "h")
    .hide("help")
    .hide("version")
    .fail((message, error) => usage(message, error))
    .wrap(Math.min(100, io().stdout.columns || 100))
    .parseAsync([...argv], {}, isDone ? undefined : print)
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
  const yargsMessage = message ?? error?.message ?? "the command line is wrong";
  const { argv } = io();
  const at = argv.findIndex((arg) => commandIn([arg]) !== null);
  const [first = argv.find((arg) => arg !== "help"), ...rest] = at < 0 ? [] : argv.slice(at);
  const action = first === undefined ? undefined : checkAction(first, rest);
  const list = "List all commands with: nova2ironic help";
  const [before] = argv.includes("--") ? ["--"] : argv;
  const [text, fix] =
    yargsMessage === NO_COMMAND || !first
      ? [
          `no command was specified${before === undefined ? "" : ` before ${before || '""'}`}`,
          `Specify the command first, and then its options. ${list}`,
        ]
      : yargsMessage.startsWith("Did you mean ")
        ? [`there is no command ${JSON.stringify(first)}`, `${yargsMessage} ${list}`]
        : translatedMessage(action === undefined ? first : `${first} ${action}`, yargsMessage);
  throw new MigrationError("N2I-E100", text, fix === undefined ? {} : { fix });
}

/** The second word of a command of two words. @throws MigrationError N2I-E100 without it */
function checkAction(group: string, rest: readonly string[]): string | undefined {
  const actions = actionsOf(group);
  const action = rest.find((arg) => actions.includes(arg));
  if (actions.length === 0 || action !== undefined) return action;
  const [second = "-"] = rest;
  const is = second.startsWith("-")
    ? "needs a command"
    : `has no command ${JSON.stringify(second)}`;
  const fix = `${didYouMean(nearest(second, actions))}Its commands: ${actions.join(", ")}.`;
  throw new MigrationError("N2I-E100", `${group} ${is}`, { fix });
}

/** Yargs' most frequent messages. @source yargs 18, lib/validation.ts, locales/en.json */
function translatedMessage(command: string, fault: string): readonly [text: string, fix?: string] {
  const help = `Help: ${command} --help`;
  const [, name, value = "", all = ""] =
    /Argument: ([\w-]+), Given: (".*"), Choices: (.*)$/s.exec(fault) ?? [];
  if (name !== undefined) {
    const choices = all.split(", ").map((one) => one.replaceAll('"', ""));
    const isPositional = declarationOf(command).includes(`<${name}>`);
    const near = didYouMean(nearest(value.replaceAll('"', ""), choices));
    return [
      `${isPositional ? `<${name}> of ${command}` : `--${name}`} cannot be ${value}`,
      `${near}The allowed values are ${choices.join(", ")}.`,
    ];
  }
  const [, surplus] = /^Unknown arguments?: (.*)$/s.exec(fault) ?? [];
  if (surplus !== undefined)
    return [
      `${command} does not accept the argument ${surplus}`,
      `Remove it. Quote a value that contains spaces. ${help}`,
    ];
  const [, empty] = /^Not enough arguments following: (.*)$/.exec(fault) ?? [];
  if (empty !== undefined) return [`--${empty} needs a value`, help];
  const [, argument] = / (<\w+>)/.exec(declarationOf(command)) ?? [];
  return argument === undefined || !fault.startsWith("Not enough non-option arguments")
    ? [fault.replaceAll("\n", " ")]
    : [`${command} needs ${argument}`, `Add it, as in: ${declarationOf(command)}. ${help}`];
}

function declarationOf(name: string): string {
  return declaredCommands().find((one) => nameOf(one) === name)?.command ?? name;
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
function checkArguments(argv: readonly string[]): void {
  for (const [at, arg] of argv.entries()) {
    if (!LOGIN.test(arg) && !QUERY.test(arg)) continue;
    const before = argv[at - 1] ?? "";
    const [option] = /^--?[\w-]+(?==)/.exec(arg) ?? /^--?[\w-]+$/.exec(before) ?? ["an argument"];
    const fix = Object.hasOwn(NO_LOGIN, option) ? NO_LOGIN[option] : undefined;
    const text = `${option}: the address contains a password`;
    throw new MigrationError("N2I-E101", text, fix === undefined ? {} : { fix });
  }
}
