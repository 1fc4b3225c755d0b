import type { LogFault } from "../../lib/quotes.ts";
import { viewer } from "../../lib/table/table.ts";
import { counted } from "../../lib/text.ts";
import { masked } from "../../migrate/plan/rules/summary.ts";
import type { NovaTally, Tally, Verified } from "../../migrate/verify/rules/used.ts";
import type { RowVerdict } from "../../model/artefact.ts";
import type { HandoverTally } from "../../window/handover/rules/judge.ts";

/** A machine whose instance is being created or deleted matches neither state. */
const MOVING = ". Nova or Ironic may be working on it. Wait a minute, then run verify again";

/** A row for each row of Ironic or Nova, with masked values. */
export const verdictsView = viewer<RowVerdict>(
  {
    ...{ Resource: "resource", UUID: "uuid", "BM ID": "bm_node_id", Result: "state" },
    Fields: ({ differs, fields = differs.map(({ field }) => field) }) => fields.join(" "),
    Details: ({ reason, differs, moving }) =>
      `${reason ?? differs.map(change).join("; ")}${moving ? MOVING : ""}`,
  },
  { causes: ["Result", "Resource", "Fields"] },
);

/** `driver_info.ipmi_address: planned "10.0.0.1", found "10.0.0.2"`. */
function change({ field, planned, found }: RowVerdict["differs"][number]): string {
  return `${field}: planned ${JSON.stringify(masked(planned))}, found ${JSON.stringify(masked(found))}`;
}

const TEXT = "Says";

export const faultsView = viewer<LogFault & { readonly path: string }>({
  Log: ({ path, line }) => `${path}:${line}`,
  [TEXT]: "text",
});

/** The totals of a comparison. @param all lists every node that is not cleaned */
export function verifiedText({ tally, hidden, nova }: Verified, all = false): readonly string[] {
  const { uncleaned } = tally;
  return [
    ironicText(tally, hidden),
    ...(uncleaned.length > 0 ? [uncleanedText(uncleaned, all)] : []),
    ...(nova === null ? [] : [novaText(nova)]),
  ];
}

export const UNCOMPARED =
  "Nova was not compared, although the plan includes it. To compare its rows as well, run verify with --nova-db.";

function ironicText(tally: Tally, hidden: number): string {
  const { validated, mismatched, missing, extra, suspended, left_out, ironics_own, staged } = tally;
  const used =
    tally.used > 0
      ? `, ${tally.used} changed by use since the hand-over (--all-rows lists them)`
      : "";
  const more = [
    ...(ironics_own > 0 ? [`${counted(ironics_own, "row")} in conductor-managed fields`] : []),
    ...(staged > 0 ? [`${counted(staged, "machine")} staged`] : []),
    ...(hidden > 0 ? [`${counted(hidden, "secret")} masked by the service and not compared`] : []),
  ];
  const counts = `${validated} validated, ${mismatched} mismatched, ${missing} missing, ${extra} extra, ${suspended} suspended`;
  return `Verify: ${[`${counts}${used}`, `${counted(left_out, "machine")} skipped`, ...more].join("; ")}.`;
}

const MAX_ROWS = 10;

function uncleanedText(uuids: readonly string[], all: boolean): string {
  const visible = all ? uuids : uuids.slice(0, MAX_ROWS);
  const more = uuids.length - visible.length;
  return (
    `Not cleaned between tenants (automated_clean is false): ${visible.join(", ")}` +
    `${more > 0 ? ` and ${more} more (--all-rows)` : ""}. finish clears this setting on the machines for which this tool set it.`
  );
}

function novaText(nova: NovaTally): string {
  const { after, before, other, used, awaited, unreported } = nova;
  const compared = [
    ...[`${counted(after + before + other + used, "row")} in the plan`],
    ...[counted(nova.machines, "machine"), counted(nova.instances, "instance")],
    counted(nova.hypervisors, "hypervisor"),
    ...(nova.placement ? [counted(nova.providers, "resource provider")] : []),
  ];
  const without = awaited + unreported;
  const later =
    without === 0
      ? ""
      : `\n${counted(without, "machine has", "machines have")} no compute node in Nova, because no nova-compute service reports ${without === 1 ? "it" : "them"}. Start nova-compute with the ironic driver, wait until it has reported, then run verify --final.`;
  return `Verify of nova: ${compared.join(", ")} compared; ${before + other} mismatched${used > 0 ? `, ${used} changed by use since the hand-over` : ""}.${later}`;
}

export function computesText(logs: number, faults: number): string {
  const many = counted(logs, "log");
  return faults === 0
    ? `nova-compute: started with the ironic driver and without errors since, according to ${many}.`
    : `nova-compute: ${counted(faults, "fault")} in ${many} since its start. Next time, start after the last one that you have seen: --compute-log FILE:LINE`;
}

export function takenOverText(
  { done, waiting, staged, held: inMaintenance, failed, missing, powerUnknown }: HandoverTally,
  logs: number,
  faults: number,
): readonly string[] {
  const many = counted(logs, "log");
  const more =
    faults > 0 ? ". Next time, start after the last one seen: --conductor-log FILE:LINE" : "";
  return [
    `Takeover: ${done} handed over, ${waiting} waiting, ${staged} staged, ${inMaintenance} held by the plan, ${failed} failed, ${missing} missing.`,
    ...(logs > 0 ? [`Logs: ${counted(faults, "fault")} in ${many}${more}.`] : []),
    // A conductor reads the power state at an interval, not during the takeover.
    ...(powerUnknown > 0
      ? [
          `Power: Ironic has not read the power state of ${counted(powerUnknown, "machine")} yet. Wait for [conductor] sync_power_state_interval (60 s by default), then run verify --takeover again.`,
        ]
      : []),
  ];
}
