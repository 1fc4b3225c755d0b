import { join } from "node:path";
import { MigrationError } from "../../model/error.ts";
import { folderOf, openManifest, PLAN } from "./plan-folder.ts";
import type { RunFolder } from "./run-folder.ts";

/**
 * The folder of the plan with this digest, the present one or one kept. Only its manifest was read;
 * opening its files checks the rest.
 *
 * @throws MigrationError N2I-E110 when the run has none
 */
export async function findPlan(run: RunFolder, sha256: string): Promise<string> {
  const kept = folderOf(run, sha256);
  for (const path of [kept, join(run.path, PLAN)])
    if ((await digestIn(path)) === sha256) return path;
  throw new MigrationError(
    "N2I-E110",
    `${run.path} has no plan with the digest ${sha256.slice(0, 12)}`,
    { fix: `Put that plan back as ${kept}: the journal speaks of its lines.` },
  );
}

/** What the manifest says; null when it is missing or not whole. */
async function digestIn(path: string): Promise<string | null> {
  return openManifest(path).then(
    ({ sha256 }) => sha256,
    (cause: unknown) => {
      if (cause instanceof MigrationError && !(cause.code === "N2I-E110" && isDenied(cause)))
        return null;
      throw cause;
    },
  );
}

function isDenied({ cause }: MigrationError): boolean {
  return cause instanceof Error && "code" in cause && cause.code === "EACCES";
}
