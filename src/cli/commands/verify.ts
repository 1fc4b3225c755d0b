import { masked } from "../../core/render/value.ts";
import type { Used } from "../../core/verify/used.ts";
import { comparedOf, emptyTally, isEqual, verify } from "../../core/verify/verify.ts";
import type { RunFolder } from "../../edge/disk/run-folder.ts";
import { openRun } from "../../edge/disk/run-folder.ts";
import type { Footer, PlanCounts } from "../../model/artefact.ts";
import type { SameSecret } from "../../model/compare.ts";
import { MigrationError } from "../../model/error.ts";
import { EXIT_STATUS } from "../../model/exit.ts";
import type { Json } from "../../model/json.ts";
import type { Verifier } from "../../model/target.ts";
import type { FormatOptions } from "../../report/format.ts";
import { openBackend, type TargetOptions } from "../../stages/backend.ts";
import { loadMappings } from "../../stages/documents.ts";
import { checkEngine, checkIdentity } from "../../stages/ironic-place.ts";
import { nothingLoads } from "../../stages/nothing.ts";
import { novaPlanOf } from "../../stages/nova-files.ts";
import { openPlan, openSnapshot, PLAN, SNAPSHOT, sealOf } from "../../stages/run.ts";
import type { VerifyArgs } from "../options/verify.ts";
import { printView } from "../print/view.ts";
import { type NovaVerifier, openNovaVerifier } from "./nova-verify.ts";
import { exitWith, note, progressOf, say, type Voice } from "./shared.ts";
import { verifyTakeover } from "./verify-takeover.ts";

const COLUMNS = ["Resource", "UUID", "BM ID", "Result", "Fields", "Details"];

/** Fields that differ, values masked: `driver_info.ipmi_address "10.0.0.1" -> "10.0.0.2"`. */
function details(
  differs: readonly { readonly field: string; readonly planned: Json; readonly found: Json }[],
): string {
  return differs
    .map(
      ({ field, planned, found }) =>
        `${field}: planned ${JSON.stringify(masked(planned))}, found ${JSON.stringify(masked(found))}`,
    )
    .join("; ");
}

/** What is known of Nova when Ironic is verified. */
interface Beside {
  /** Its rows that are not as planned, for the same list. */
  readonly nova?: ((used: Used) => AsyncIterable<readonly Json[]>) | null;
  /** Whether it has the machines by now. */
  readonly settled?: boolean;
}

/**
 * Verifies a plan against Ironic and prints a row for each row that is not as planned, and the
 * totals on stderr, where they do not disturb a program that reads the rows.
 *
 * @returns whether everything of Ironic is as planned
 * @throws MigrationError N2I-E326 when no row was there to be compared
 */
export async function verifyPlan(
  plan: Awaited<ReturnType<typeof openPlan>>,
  verifier: Verifier,
  same: SameSecret,
  shown: FormatOptions & Voice & { readonly allRows?: boolean },
  { nova = null, settled = false }: Beside = {},
): Promise<boolean> {
  const tally = emptyTally();
  const progress = progressOf("verify", plan.footer.footer.machines, shown);
  const used: Used = new Map();
  const how = { all: shown.allRows === true, settled, used };
  const verdicts = verify(plan.lines, verifier, same, tally, how);
  const rows = async function* (): AsyncGenerator<readonly Json[]> {
    for await (const { resource, uuid, bm_node_id, state, differs, reason } of verdicts)
      yield [
        resource,
        uuid,
        bm_node_id,
        state,
        differs.map(({ field }) => field).join(" "),
        reason ?? details(differs),
      ];
    if (nova !== null) yield* nova(used);
  };
  await printView({ columns: COLUMNS, rows: rows() }, shown);
  const { validated, mismatched, missing, extra, suspended, left_out, ironics_own, staged } = tally;
  const hidden = verifier.uncompared?.() ?? 0;
  progress.done(`${validated} rows validated`);
  note(
    shown,
    `Verify: ${validated} validated, ${mismatched} mismatched, ${missing} missing, ${extra} extra, ${suspended} suspended${tally.used > 0 ? `, ${tally.used} changed by use since the hand-over (--all-rows lists them)` : ""}; ` +
      `${left_out} machines left out${ironics_own > 0 ? `; ${ironics_own} rows in fields a conductor keeps` : ""}${staged > 0 ? `; ${staged} machines staged` : ""}` +
      `${hidden > 0 ? `; ${hidden} secrets masked by the service, which nothing can compare` : ""}.`,
  );
  if (comparedOf(tally) === 0) throw nothingLoads(plan.footer.footer);
  if (tally.uncleaned.length > 0)
    note(shown, uncleanedText(tally.uncleaned, shown.allRows === true));
  return isEqual(tally);
}

/** Uuids that are told unless all rows are wanted. */
const NAMED = 10;

function uncleanedText(uuids: readonly string[], all: boolean): string {
  const named = all ? uuids : uuids.slice(0, NAMED);
  const more = uuids.length - named.length;
  return (
    `Not cleaned between tenants (automated_clean is false): ${named.join(", ")}` +
    `${more > 0 ? ` and ${more} more (--all-rows)` : ""}; finish clears it where this tool set it.`
  );
}

export async function verifyCommand(args: VerifyArgs): Promise<void> {
  if (args.takeover && (args.novaDb !== undefined || args.final))
    throw new MigrationError(
      "N2I-E100",
      `--takeover and ${args.final ? "--final" : "--nova-db"} exclude each other`,
    );
  if (args.placementDb !== undefined && args.novaDb === undefined)
    throw new MigrationError("N2I-E100", "--placement-db wants --nova-db");
  const run = await openRun(args.run, { create: false });
  const plan = await openPlan(`${run.path}/${PLAN}`);
  const snapshot = await openSnapshot(`${run.path}/${SNAPSHOT}`);
  if (snapshot.footer.sha256 !== plan.header.made_from.snapshot)
    throw new MigrationError("N2I-E114", `${run.path}: the plan was made from another snapshot`);
  const seal = await sealOf(run, args.keyFile, plan.header.key);
  const mappings = await loadMappings();
  const lost = snapshot.footer.footer.machines - plan.footer.footer.machines;
  if (lost !== 0)
    throw new MigrationError("N2I-E114", `the snapshot has ${lost} machines more than the plan`);
  if (args.takeover) {
    if (!(await verifyTakeover(plan, mappings, args))) exitWith(EXIT_STATUS.differs.status);
    return;
  }
  if (args.conductorLog !== undefined)
    throw new MigrationError("N2I-E100", "--conductor-log wants --takeover");
  const nova = await besideOf(run, plan.footer, args);
  const backend = await openBackend(args, mappings, { readOnly: true }, (text) =>
    say(args, text),
  ).catch(async (error: unknown) => {
    await nova?.close();
    throw error;
  });
  try {
    checkEngine(plan.header.target, backend);
    const { identity, target } = await backend.open(plan.header.target.release, seal);
    checkIdentity(plan.header.target, identity);
    const rows = nova === null ? null : nova.rows(() => plan.lines(), args.allRows);
    const settled = args.final || nova?.ran === true;
    const same = backend.same(seal);
    const equal = await verifyPlan(plan, target.verifier, same, args, { nova: rows, settled });
    if (!(nova?.end(args) ?? true) || !equal) exitWith(EXIT_STATUS.differs.status);
  } finally {
    await backend.close();
    await nova?.close();
  }
}

/** Nova's side, looked at before anything is compared; null when it is not asked for. */
async function besideOf(
  run: RunFolder,
  plan: Footer<PlanCounts>,
  args: Pick<VerifyArgs, "novaDb" | "novaApiDb" | "placementDb" | "final"> & TargetOptions,
): Promise<NovaVerifier | null> {
  const { novaDb } = args;
  if (novaDb === undefined) return null;
  const beside = await novaPlanOf(run, plan);
  if (beside === null)
    throw new MigrationError("N2I-E114", `${run.path}/${PLAN} was made without Nova`);
  return openNovaVerifier(run, beside, { ...args, novaDb });
}
