import { join } from "node:path";
import { execute } from "../../src/engine/execute.ts";
import type { Leg, Session } from "../../src/engine/part.ts";
import type { Walked } from "../../src/engine/runner.ts";
import { ironicLeg, withIronic } from "../../src/migrate/apply/parts.ts";
import { databaseBackend } from "../../src/migrate/open/backend.ts";
import { emptyTally } from "../../src/migrate/verify/rules/used.ts";
import { verify } from "../../src/migrate/verify/rules/verify.ts";
import type { RowVerdict } from "../../src/model/artefact.ts";
import { sameSecret } from "../../src/model/compare.ts";
import type { PlannedMachine, Step } from "../../src/model/plan.ts";
import type { Seal } from "../../src/model/secret.ts";
import { withSession } from "../../src/run/session.ts";
import { mappings, planOf, seal, targetOf, type Workplace } from "./planned-case.ts";

type Place = Pick<Workplace, "run" | "ironic">;

/** Loads the run's plan as `apply` does: under the target's lock, told in the journal. */
export function applied(at: Place): Promise<Walked<PlannedMachine>> {
  return acting(at, true, (leg, session) => execute([leg], session, { direction: "forward" }));
}

export function rolledBack(at: Place): Promise<Walked<PlannedMachine>> {
  const only = { all: true, selects: () => true };
  return acting(at, false, (leg, session) => execute([leg], session, { direction: "back", only }));
}

/** Every row's verdict, those as planned included, and the totals. @param key opens secrets to compare them */
export async function verified(at: Place, key: Seal = seal) {
  const plan = await planOf(at);
  const { target } = await targetOf(at.ironic, plan.header.target.release, key);
  const tally = emptyTally();
  const verdicts: RowVerdict[] = [];
  for await (const verdict of verify(plan.lines, target.verifier, sameSecret(key), tally, {
    all: true,
  }))
    verdicts.push(verdict);
  return { tally, verdicts };
}

async function acting(
  at: Place,
  check: boolean,
  work: (leg: Leg<Step, PlannedMachine>, session: Session) => Promise<Walked<PlannedMachine>>,
): Promise<Walked<PlannedMachine>> {
  const { header, lines, footer } = await planOf(at);
  const road = databaseBackend(at.ironic, mappings);
  return withSession(at.run, (session) =>
    withIronic(at.run, session, road, { header, seal, check }, (place) => {
      const leg = ironicLeg(place.part, { sha256: footer.sha256, lines });
      const { precondition } = place;
      return work({ ...leg, check: place.check, precondition }, session);
    }),
  );
}

/** Where a run's snapshot is, or the machines of its plan. */
export function artefact({ run }: Pick<Workplace, "run">, name: "snapshot" | "plan"): string {
  return join(run.path, name === "plan" ? "plan/machines.jsonl" : `${name}.jsonl`);
}
