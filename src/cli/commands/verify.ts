import { EXIT_STATUS } from "../../lib/exit-status.ts";
import { openRun } from "../../run/files/run-folder.ts";
import type { HostVerifyOptions } from "../../takeover/host-verify.ts";
import type { RunVerified } from "../kinds/kind.ts";
import { verifyTakeoverRun } from "../kinds/takeover.ts";
import { kindFor } from "../kinds.ts";
import type { VerifyArgs } from "../options/verify.ts";
import { exitWith, type ListArgs, note, printMessage, type Voice } from "./shared.ts";

export async function verifyCommand(args: VerifyArgs): Promise<void> {
  const kind = await kindFor(await openRun(args.run, { create: false }));
  printVerified(args, await kind.verify(args));
}

/** `host verify`, which has only the options of such runs. */
export async function verifyHostsCommand(args: ListArgs & HostVerifyOptions) {
  printVerified(args, await verifyTakeoverRun(args));
}

function printVerified(args: Voice, { texts, equal }: RunVerified): void {
  for (const text of texts) (text.startsWith("Next: ") ? printMessage : note)(args, text);
  if (!equal) exitWith(EXIT_STATUS.differs.status);
}
