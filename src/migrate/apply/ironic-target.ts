import type { Part } from "../../engine/part.ts";
import { MigrationError } from "../../lib/error.ts";
import type { PlanHeader, TargetIdentity } from "../../model/artefact.ts";
import { differences } from "../../model/database.ts";
import type { Release, Target, Verifier } from "../../model/ironic/target.ts";
import { IRONIC } from "../../model/journal.ts";
import type { Step } from "../../model/plan.ts";
import type { Seal } from "../../model/secret.ts";
import { digestOnly } from "../../run/files/artefact-reader.ts";
import type { RunFolder } from "../../run/files/run-folder.ts";
import { SNAPSHOT } from "../../run/run.ts";
import type { RunSession } from "../../run/session.ts";
import type { Backend } from "../open/backend.ts";
import { ironicPart } from "./ironic.ts";

/** @throws MigrationError N2I-E300 with the differences */
export function checkIdentity(planned: TargetIdentity, found: TargetIdentity): void {
  const changed = differences(planned, found, ["alembic_head", "release"]);
  if (changed.length > 0)
    throw new MigrationError(
      "N2I-E300",
      `the plan was made for a different target: ${changed.join("; ")}`,
      {
        fix: `Specify the ${planned.engine === "rest" ? "service" : "--ironic-db"} of the plan with the same address (/etc/hosts may map its name to a different host), or run plan again for this target.`,
      },
    );
}

/** REST accepts fewer fields than a database plan has, and rows need more than a REST plan has. */
export function checkEngine({ engine }: TargetIdentity, { kind }: Pick<Backend, "kind">): void {
  if ((engine === "rest") !== (kind === "rest"))
    throw new MigrationError(
      "N2I-E300",
      engine === "rest"
        ? "the plan was made for REST, but a database is selected"
        : "the plan was made for a database, but REST is selected",
      { fix: "Use the options of the plan, or run plan again for this backend." },
    );
}

/** @throws MigrationError N2I-E308 if this release cannot mark staged machines */
export function checkReasons({ doc, node }: Release): void {
  if (!node.some(({ name }) => name === "maintenance_reason"))
    throw new MigrationError(
      "N2I-E308",
      `Ironic ${doc.release} does not store a maintenance reason`,
    );
}

/** Ironic, locked, with the checks around every batch. */
export interface LockedIronic {
  readonly target: Target;
  readonly part: Part<Step>;
  readonly verifier: Verifier;
  readonly check: () => Promise<void>;
  readonly precondition: () => Promise<void>;
}

interface How {
  /** The snapshot must be the one from which the plan was made. */
  readonly check: boolean;
  readonly staged?: boolean;
  /** Nodes whose protection `finish` removed. */
  readonly unprotected?: () => ReadonlySet<string>;
}

/** Opens a plan's target, checks that it is the planned one, and locks it during `work`. */
export async function withIronic<T>(
  run: RunFolder,
  session: RunSession,
  backend: Backend,
  { header, seal, ...source }: How & { readonly header: PlanHeader; readonly seal: Seal },
  work: (lockedIronic: LockedIronic) => Promise<T>,
): Promise<T> {
  checkEngine(header.target, backend);
  const staged = source.staged === true;
  const found = await backend.open(header.target.release, seal, {
    staged,
    ...(source.unprotected !== undefined && { unprotected: source.unprotected }),
  });
  checkIdentity(header.target, found.identity);
  if (staged) checkReasons(found.release);
  const { target } = found;
  const lock = await target.lock();
  try {
    await session.begin(IRONIC, found.identity, { staged });
    const { verifier } = target;
    return await work({
      ...{ target, verifier, part: ironicPart(target), check: lock.check },
      async precondition() {
        checkIdentity(header.target, await backend.identify(header.target.release));
        const snapshot = source.check
          ? await digestOnly(`${run.path}/${SNAPSHOT}`, "snapshot")
          : null;
        if (snapshot !== null && snapshot !== header.made_from.snapshot)
          throw new MigrationError(
            "N2I-E300",
            "the snapshot is not the one the plan was made from",
          );
      },
    });
  } finally {
    await lock.release();
  }
}
