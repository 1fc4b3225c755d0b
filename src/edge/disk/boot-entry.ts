import { isObject, type JsonObject } from "../../model/json.ts";
import { isSealed } from "../../model/secret.ts";
import { BOOT_FILES, type BootEntry, type BootStep, type Thing } from "../../model/staging.ts";
import { fields, malformed } from "./entry-fields.ts";

/** What a step may speak of: undoing must never reach beyond. */
const PATH =
  /^(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?:\/(?:config|kernel|ramdisk))?|pxelinux\.cfg(?:\/01(?:-[0-9a-f]{2}){6})?)$/;

/**
 * A journal line of boot files as an entry, every field looked at.
 *
 * @throws MigrationError N2I-E112
 */
export function parseBoot(line: JsonObject, place: string): BootEntry {
  const { text, texts } = fields(line, place);
  const part = BOOT_FILES as typeof BOOT_FILES;
  const of = () => ({ part, tree: text("tree"), node: text("node"), at: text("at") });
  switch (line.do) {
    case "stage":
      if (!Array.isArray(line.steps)) throw malformed(place, "steps");
      return {
        ...{ do: line.do, ...of(), by: text("by") },
        steps: line.steps.map((step: unknown) => parseStep(step, `${place} steps`)),
      };
    case "staged":
      return { do: line.do, ...of() };
    case "unstage":
      return { do: line.do, ...of(), by: text("by") };
    case "unstaged":
      return { do: line.do, ...of(), left: texts("left") };
    default:
      throw malformed(place, "do");
  }
}

function parseStep(value: unknown, place: string): BootStep {
  if (!isObject(value)) throw malformed(place, "step");
  const path = fields(value, place).text("path");
  if (!PATH.test(path)) throw malformed(place, "path");
  const before = value.before === null ? null : parseThing(value.before, `${place} before`);
  return { path, before, after: parseThing(value.after, `${place} after`) };
}

function parseThing(value: unknown, place: string): Thing {
  if (!isObject(value)) throw malformed(place, "kind");
  const { text } = fields(value, place);
  switch (value.kind) {
    case "folder":
      return { kind: value.kind };
    case "link":
      return { kind: value.kind, target: text("target") };
    case "file": {
      const file = { kind: value.kind, sha256: text("sha256") } as const;
      if (value.was === undefined) return file;
      const { was } = value;
      if (!isObject(was) || !isSealed(was.text)) throw malformed(place, "was");
      const { number } = fields(was, `${place} was`);
      const owner = { mode: number("mode"), uid: number("uid"), gid: number("gid") };
      return { ...file, was: { text: was.text, ...owner } };
    }
    default:
      throw malformed(place, "kind");
  }
}
