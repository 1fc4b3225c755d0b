import type { RunFolder } from "../run/files/run-folder.ts";
import { kindOf, type RunAbout } from "../run/files/run-kind.ts";
import type { RunKind } from "./kinds/kind.ts";

/** Each kind is loaded only for a run of it. */
const KINDS: { readonly [kind in RunAbout["kind"]]: (about: RunAbout) => Promise<RunKind> } = {
  migration: async () => (await import("./kinds/migration.ts")).migration,
  takeover: async (about) => (await import("./kinds/takeover.ts")).takeover(about),
  switchover: async () => (await import("./kinds/switchover.ts")).switchover,
  manage: async () => (await import("./kinds/manage.ts")).manage,
};

/** @throws MigrationError N2I-E110, N2I-E113 */
export async function kindFor(run: RunFolder): Promise<RunKind> {
  const about = await kindOf(run);
  return KINDS[about.kind](about);
}
