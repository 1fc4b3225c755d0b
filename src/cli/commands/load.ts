import type { Argv } from "yargs";

/** Adds a command to the program. */
type Add = (program: Argv) => Argv;

/** Every command, in the order help lists them; each is loaded when it is wanted. */
const COMMANDS: { readonly [name: string]: () => Promise<Add> } = {
  extract: async () => {
    const { extractCommand } = await import("./extract.ts");
    return (program) => program.command(extractCommand);
  },
  power: async () => {
    const { powerCommand } = await import("./power.ts");
    return (program) => program.command(powerCommand);
  },
  plan: async () => {
    const { planCommand } = await import("./plan.ts");
    return (program) => program.command(planCommand);
  },
  check: async () => {
    const { checkCommand } = await import("./check.ts");
    return (program) => program.command(checkCommand);
  },
  config: async () => {
    const { configCommand } = await import("./config.ts");
    return (program) => program.command(configCommand);
  },
  show: async () => {
    const { showCommand } = await import("./show.ts");
    return (program) => program.command(showCommand);
  },
  apply: async () => {
    const { applyCommand } = await import("./apply.ts");
    return (program) => program.command(applyCommand);
  },
  verify: async () => {
    const { verifyCommand } = await import("./verify.ts");
    return (program) => program.command(verifyCommand);
  },
  boot: async () => {
    const { bootCommand } = await import("./boot.ts");
    return (program) => program.command(bootCommand);
  },
  release: async () => {
    const { releaseCommand } = await import("./release.ts");
    return (program) => program.command(releaseCommand);
  },
  finish: async () => {
    const { finishCommand } = await import("./finish.ts");
    return (program) => program.command(finishCommand);
  },
  rollback: async () => {
    const { rollbackCommand } = await import("./rollback.ts");
    return (program) => program.command(rollbackCommand);
  },
  status: async () => {
    const { statusCommand } = await import("./status.ts");
    return (program) => program.command(statusCommand);
  },
  explain: async () => {
    const { explainCommand } = await import("./explain.ts");
    return (program) => program.command(explainCommand);
  },
  demo: async () => {
    const { demoCommand } = await import("./demo.ts");
    return (program) => program.command(demoCommand);
  },
};

/**
 * The commands a command line needs: the one it begins with, so that `status` does not wait for
 * database drivers; none for `--version` alone; otherwise all, for help, completion and typos.
 */
export async function loadCommands(words: readonly string[]): Promise<Add> {
  const [first = ""] = words;
  const named = Object.hasOwn(COMMANDS, first) ? COMMANDS[first] : undefined;
  if (named !== undefined) return named();
  if (first === "--version" && words.length === 1) return (program) => program;
  const all = await Promise.all(Object.values(COMMANDS).map((load) => load()));
  return (program) => all.reduce((to, add) => add(to), program);
}
