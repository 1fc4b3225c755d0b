import { existsSync, readdirSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { topics } from "../edge/disk/manual.ts";
import { MigrationError } from "../model/error.ts";
import { FINDINGS } from "../model/findings.ts";
import { REFUSALS } from "../model/refusals.ts";
import { CONNECTIONS } from "../stages/next.ts";
import { commandNames } from "./commands/load.ts";

/** What the shells' scripts call the program with: the words so far, its own name first. */
export const COMPLETE = "--get-yargs-completions";

/** What each shell does with the lines it is given. SHELL says how yargs is to write them. */
const SCRIPTS = {
  bash: `# nova2ironic completion bash >> ~/.bashrc
_nova2ironic()
{
    local line words=()
    while IFS= read -r line; do words+=("$line"); done <<< \\
        "$(SHELL=bash nova2ironic --get-yargs-completions "\${COMP_WORDS[@]:0:COMP_CWORD+1}")"
    COMPREPLY=()
    while IFS= read -r line; do
        if [[ $line == *" "* ]]; then line="\\"$line\\""; fi
        if [[ -n $line ]]; then COMPREPLY+=("$line"); fi
    done <<< "$(compgen -W "$(printf '%q ' "\${words[@]}")" -- "\${COMP_WORDS[COMP_CWORD]}")"
}
complete -o bashdefault -o default -F _nova2ironic nova2ironic
`,
  zsh: `#compdef nova2ironic
# nova2ironic completion zsh >> ~/.zshrc
_nova2ironic()
{
  local -a reply
  reply=("\${(@f)$(SHELL=zsh nova2ironic --get-yargs-completions "\${(@)words[1,CURRENT]}")}")
  if [[ -n "\${reply[1]}" ]]; then
    _describe 'values' reply
  else
    _default
  fi
}
compdef _nova2ironic nova2ironic
`,
  fish: `# nova2ironic completion fish > ~/.config/fish/completions/nova2ironic.fish
function __nova2ironic
    set -l words (commandline -opc) (commandline -ct)
    SHELL=fish nova2ironic --get-yargs-completions $words
end
complete -c nova2ironic -a '(__nova2ironic)'
`,
} as const;

/**
 * The script for a shell.
 *
 * @param shell its name; without one, that of the login, or else bash
 * @param login the variable SHELL
 * @throws MigrationError N2I-E100
 */
export function completionScript(shell: string | undefined, login: string | undefined): string {
  const wanted = shell ?? basename(login ?? "bash");
  const [, script] = Object.entries(SCRIPTS).find(([name]) => name === wanted) ?? [];
  if (script !== undefined) return script;
  if (shell === undefined) return SCRIPTS.bash;
  throw new MigrationError("N2I-E100", `there is no completion for ${JSON.stringify(shell)}`, {
    fix: `Give one of ${Object.keys(SCRIPTS).join(", ")}.`,
  });
}

/**
 * What may stand where the last of these words begins, where yargs does not know it: codes, topics,
 * columns and runs. Null: ask yargs.
 *
 * @param words the command line, the program's name first
 * @param cwd where runs are looked for
 */
export async function completions(
  words: readonly string[],
  cwd: string,
): Promise<readonly string[] | null> {
  const [, command = "", ...rest] = words;
  const current = rest.at(-1) ?? "";
  const before = rest.at(-2) ?? "";
  const begins = (word: string): boolean => word.startsWith(current);
  if (before === "--run") return runs(current, cwd);
  if (before === "--without") return CONNECTIONS.filter(begins);
  if (["-c", "--column", "--sort-column"].includes(before)) {
    const { columnsOf } = await import("../report/columns.ts");
    return columnsOf(command).filter(begins);
  }
  if (before === "--match") {
    const { columnsOf } = await import("../report/columns.ts");
    return columnsOf(command)
      .map((column) => `${column}=`)
      .filter(begins);
  }
  if (rest.length === 0 || current.startsWith("-") || before.startsWith("-")) return null;
  if (command === "explain") return [...topics(), ...codes(current)].filter(begins);
  return command === "help"
    ? [...commandNames(), ...topics(), ...codes(current)].filter(begins)
    : null;
}

/** Every code, as it is being written: `N2I-D600`, `D600` or `d600`. */
function codes(current: string): readonly string[] {
  const all = [...Object.keys(REFUSALS), ...Object.keys(FINDINGS)];
  if (/^$|^n/i.test(current)) return all;
  const short = all.map((code) => code.replace("N2I-", ""));
  return current === current.toLowerCase() ? short.map((code) => code.toLowerCase()) : short;
}

/** Folders that hold a run, beside what was typed of a path. */
function runs(current: string, cwd: string): readonly string[] {
  const folder = current.slice(0, current.lastIndexOf("/") + 1);
  const at = resolve(cwd, folder);
  if (!existsSync(at)) return [];
  const isRun = (name: string): boolean =>
    ["snapshot.jsonl", "connections.yaml", "log.jsonl"].some((file) =>
      existsSync(join(at, name, file)),
    );
  return readdirSync(at)
    .filter(isRun)
    .map((name) => `${folder}${name}`)
    .filter((name) => name.startsWith(current));
}
