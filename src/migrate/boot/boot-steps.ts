import { type StartedChange, startedChangesIn } from "../../engine/started.ts";
import { isObject, type Json, type JsonObject } from "../../lib/json.ts";
import type { BootStep, Thing } from "../../model/boot.ts";
import type { Entries } from "../../model/journal.ts";
import { isSealed } from "../../model/secret.ts";
import { fields, malformed } from "../../run/files/journal-entries.ts";

/** Paths a step may have. A rollback must never leave the tree. */
const PATH =
  /^(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?:\/(?:config|(?:deploy_)?(?:kernel|ramdisk)))?|pxelinux\.cfg(?:\/01(?:-[0-9a-f]{2}){6})?)$/;

const PREFIX = "boot-files:";

export function bootPart(root: string): string {
  return `${PREFIX}${root}`;
}

/** Trees in which this run staged files, with the number of machines that are staged now. */
export function stagedTrees(entries: Entries): ReadonlyMap<string, number> {
  const parts = new Set(
    entries.flatMap((entry) =>
      "id" in entry && entry.part.startsWith(PREFIX) ? [entry.part] : [],
    ),
  );
  return new Map(
    [...parts].map(
      (part) => [part.slice(PREFIX.length), startedChangesIn(entries, part).size] as const,
    ),
  );
}

export function observedOf(steps: readonly BootStep[]): JsonObject {
  // Texts, numbers and null only, which JSON represents exactly.
  return { steps: steps as readonly object[] as readonly Json[] };
}

/**
 * The steps of a staged machine that were not rolled back. The journal is checked, because a
 * rollback must never leave the tree.
 * @throws MigrationError N2I-E112
 */
export function stepsOf(node: string, { observed }: StartedChange): readonly BootStep[] {
  const location = `journal, boot files of ${node}`;
  return observed.flatMap(({ steps }) => {
    if (!Array.isArray(steps)) throw malformed(location, "steps");
    return steps.map((step: unknown) => parseStep(step, `${location} steps`));
  });
}

function parseStep(value: unknown, location: string): BootStep {
  if (!isObject(value)) throw malformed(location, "step");
  const path = fields(value, location).text("path");
  if (!PATH.test(path)) throw malformed(location, "path");
  const before = value.before === null ? null : parseThing(value.before, `${location} before`);
  return { path, before, after: parseThing(value.after, `${location} after`) };
}

function parseThing(value: unknown, location: string): Thing {
  if (!isObject(value)) throw malformed(location, "kind");
  const { text } = fields(value, location);
  switch (value.kind) {
    case "folder":
      return { kind: value.kind };
    case "link":
      return { kind: value.kind, target: text("target") };
    case "file": {
      const file = { kind: value.kind, sha256: text("sha256") } as const;
      if (value.was === undefined) return file;
      const { was } = value;
      if (!isObject(was) || !isSealed(was.text)) throw malformed(location, "was");
      const { number } = fields(was, `${location} was`);
      const owner = { mode: number("mode"), uid: number("uid"), gid: number("gid") };
      return { ...file, was: { text: was.text, ...owner } };
    }
    default:
      throw malformed(location, "kind");
  }
}
