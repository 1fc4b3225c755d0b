import { EXIT_STATUS } from "../../lib/exit-status.ts";
import { isObject } from "../../lib/json.ts";
import { REFUSALS } from "../../lib/refusals.ts";
import { duration } from "../../lib/text.ts";
import type { Rehearsal } from "../../model/rehearsal.ts";
import { type RunFolder, readNote } from "../../run/files/run-folder.ts";
import { butFor } from "../report/rules/window.ts";

export const REHEARSAL = "rehearsal";
export const REHEARSED = "rehearsal.json";

/** The result of a run's last rehearsal. Null if there is none, or if the file is invalid. */
export async function readRehearsal(run: RunFolder): Promise<Rehearsal | null> {
  const note = await readNote(run, REHEARSED);
  if (!isObject(note) || note.format !== "nova2ironic/rehearsal@1") return null;
  const { at, plan, stages, refusals, held: passed, nova, loaded } = note;
  const isValid =
    [at, plan].every((one) => typeof one === "string") &&
    typeof passed === "boolean" &&
    isObject(nova) &&
    typeof nova.left === "number" &&
    [stages, refusals].every(Array.isArray) &&
    (loaded === null ||
      (isObject(loaded) && typeof loaded.count === "number" && typeof loaded.seconds === "number"));
  if (!isValid) return null;
  return note as unknown as Rehearsal; // as this tool wrote it
}

/** The exit status of rehearse: that of the refused command, if any. */
export function endOf({ refusals, held: passed, stages, nova }: Rehearsal): number {
  if (passed) return EXIT_STATUS[nova.left > 0 ? "partial" : "done"].status;
  const [first] = refusals.toSorted(
    (one, other) => Number(one.went_on !== null) - Number(other.went_on !== null),
  );
  if (first !== undefined) return REFUSALS[first.code].exit;
  const failed = stages.some(({ result }) => / failed$/.test(result));
  return failed ? EXIT_STATUS.partial.status : EXIT_STATUS.differs.status;
}

export function rehearsedText(rehearsal: Rehearsal, present: string | null): string {
  const { at, plan, held: passed, stages, refusals, nova } = rehearsal;
  if (plan !== present) return `${at}, for a different plan: rehearse this plan`;
  if (passed) return `${at}, held${butFor(nova)}: ${stageTimes(stages).join(", ")}`;
  const wrong = stages.filter(({ result }) => !/^(done$|refused)/.test(result));
  const causes = [
    ...refusals.map(({ stage, code }) => `${stage} would be refused (${code})`),
    ...wrong.map(({ stage, result }) => `${stage} ${result}`),
  ];
  return `${at}, failed: ${causes.join("; ") || "the copy was not as before after the rollback"}`;
}

/** The durations of the first stages that were not refused. */
export function stageTimes(stages: Rehearsal["stages"]): readonly string[] {
  return ["apply", "verify", "rollback"].flatMap((name) => {
    const found = stages.find(({ stage }) => stage === name);
    return found === undefined || found.result.startsWith("refused")
      ? []
      : [`${name} ${duration(found.seconds)}`];
  });
}
