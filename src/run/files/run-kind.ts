import { open, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { MigrationError, systemCode } from "../../lib/error.ts";
import { notRead } from "../../lib/files/failure.ts";
import { writeAtomic } from "../../lib/files/temp-file.ts";
import { isObject, parsedJson } from "../../lib/json.ts";
import { VERSION } from "../version.ts";
import type { RunFolder } from "./run-folder.ts";

/** Kind of a run, which its first command determines. */
export interface RunAbout {
  readonly kind: "migration" | "takeover" | "switchover" | "manage";
  /** For a takeover: the system of its machines. */
  readonly variant?: "ironic" | "baremetal";
}

const RUN_FILE = "run.json";
const FORMAT = "nova2ironic/run@1";

/** Purpose and commands of each kind. */
const KINDS: { readonly [kind in RunAbout["kind"]]: readonly [does: string, commands: string] } = {
  migration: ["migrates machines to Ironic", "extract, plan, apply and the later stages"],
  takeover: ["moves machines between compute hosts", "host move, show, status, verify, rollback"],
  switchover: ["moves an instance to a spare", "node switchover, status, verify, rollback"],
  manage: [
    "creates server records for machines",
    "node manage, node unmanage, status, verify, rollback",
  ],
};

/** Reads run.json. @throws MigrationError N2I-E110 if missing, N2I-E113 if invalid */
export async function kindOf(run: Pick<RunFolder, "path">): Promise<RunAbout> {
  const file = join(run.path, RUN_FILE);
  const text = await readFile(file, "utf8").catch((cause: unknown) => {
    if (systemCode(cause) === "ENOENT") return null;
    throw notRead(file, cause);
  });
  if (text === null) {
    if (await isInUse(run))
      throw new MigrationError("N2I-E110", `${file} is missing`, { fix: await putBack(run) });
    throw new MigrationError("N2I-E110", `${run.path} is not a run: it has no ${RUN_FILE}`, {
      fix: "Specify the folder of a run, or start a run with: nova2ironic extract",
    });
  }
  const found = parsedJson(text);
  if (isObject(found) && found.format === FORMAT) {
    const { variant } = found;
    if (found.kind === "migration" || found.kind === "switchover" || found.kind === "manage")
      return { kind: found.kind };
    if (found.kind === "takeover" && (variant === "ironic" || variant === "baremetal"))
      return { kind: found.kind, variant };
  }
  throw new MigrationError("N2I-E113", `${file} is not a ${FORMAT}`, { fix: await putBack(run) });
}

/** Fix for a lost run.json: its content, derived from the run's other files. */
async function putBack(run: Pick<RunFolder, "path">): Promise<string> {
  const [journal, plan] = await Promise.all(
    ["journal.jsonl", "plan/plan.json"].map((name) => beginningOf(join(run.path, name))),
  );
  const found = SIGNS.find(([sign]) => sign.test(`${journal}${plan}`));
  const content = JSON.stringify({ format: FORMAT, ...(found?.[1] ?? { kind: "migration" }) });
  return `Restore it from a copy of the run, or write this content, which matches the other files of the run: ${content}`;
}

/** Journal entries and plan keys that only one kind has. */
const SIGNS: readonly (readonly [sign: RegExp, about: RunAbout])[] = [
  [
    /"part":"host-machines"|"nova_bm":.*"kind":"hosts"|"kind":"hosts".*"nova_bm":/s,
    { kind: "takeover", variant: "baremetal" },
  ],
  [/"part":"host-(?:rows|fence)"|"kind":"hosts"/, { kind: "takeover", variant: "ironic" }],
  [/"system":"manage"/, { kind: "manage" }],
  [/"system":"switchover"/, { kind: "switchover" }],
];

/** At most 64 KiB. Empty for an unreadable file. */
async function beginningOf(path: string): Promise<string> {
  const file = await open(path, "r").catch(() => null);
  if (file === null) return "";
  try {
    const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(65_536) });
    return buffer.toString("utf8", 0, bytesRead).replaceAll(/": +/g, '":');
  } finally {
    await file.close();
  }
}

/** A folder that is empty, or has only a hook or a key, is not a run. */
export async function isRun(run: Pick<RunFolder, "path">): Promise<boolean> {
  return isInUse(run, [RUN_FILE, ...IN_USE]);
}

/** For a new run. @throws MigrationError N2I-E110, N2I-E113, N2I-E315, N2I-E120 */
export async function markKind(run: RunFolder, about: RunAbout, command: string): Promise<void> {
  // A command that failed before any write does not determine the kind.
  if (await isInUse(run)) return checkKind(run, about, command);
  const made_at = new Date().toISOString();
  const text = JSON.stringify({ format: FORMAT, ...about, tool: VERSION, made_at }, null, 2);
  await writeAtomic(run.path, RUN_FILE, `${text}\n`);
}

/** Files of a run with a known kind. A key or a hook may exist before the first command. */
const IN_USE: readonly string[] = ["snapshot.jsonl", "journal.jsonl", "plan", "switchover.json"];

async function isInUse({ path }: Pick<RunFolder, "path">, files = IN_USE): Promise<boolean> {
  const names = await readdir(path).catch((cause: unknown) => {
    throw notRead(path, cause);
  });
  return names.some((name) => files.includes(name));
}

/** @throws MigrationError N2I-E110, N2I-E113, N2I-E315 for a run of another kind */
export async function checkKind(
  run: Pick<RunFolder, "path">,
  { kind, variant }: RunAbout,
  command: string,
): Promise<void> {
  const found = await kindOf(run);
  if (found.kind !== kind) {
    const [does, commands] = KINDS[found.kind];
    throw new MigrationError("N2I-E315", `${run.path} ${does}`, {
      fix: `Use this run with ${commands}. Use a separate --run for ${command}.`,
    });
  }
  if (variant === undefined || found.variant === variant) return;
  const service = found.variant === "baremetal" ? "nova-baremetal" : "Ironic";
  throw new MigrationError("N2I-E315", `${run.path} moves machines of ${service}`, {
    fix: "Use a separate --run for this plan.",
  });
}
