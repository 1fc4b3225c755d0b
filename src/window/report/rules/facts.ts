import type { PlanCounts, PlanHeader } from "../../../model/artefact.ts";
import type { FindingCode, Severity } from "../../../model/findings.ts";
import type { NovaPlanCounts, NovaPlanHeader } from "../../../model/nova/nova-plan.ts";
import type { PlannedMachine, Verdict } from "../../../model/plan.ts";
import type { Unrehearsed } from "../../../model/rehearsal.ts";

export interface ReportMachine {
  readonly bm_node_id: number;
  readonly uuid: string | null;
  readonly verdict: Verdict;
  /** service_host of its nova-compute. */
  readonly host: string | null;
  readonly address: string | null;
  readonly instance: string | null;
  readonly instance_uuid: string | null;
  readonly reason: string | null;
  /** Each once. */
  readonly codes: readonly FindingCode[];
}

/** A machine as the plan has it, and as a report lists it. */
export interface Reported {
  readonly machine: ReportMachine;
  readonly planned: PlannedMachine;
}

export interface FoundGroup {
  readonly code: FindingCode;
  readonly severity: Severity;
  readonly machines: number;
  /** Those of them that are not left out, and where it was not accepted. */
  readonly open: number;
  readonly accepted: number;
  /** Times it was found of no machine. */
  readonly elsewhere: number;
  /** The first machines where it is open, by uuid. */
  readonly examples: readonly string[];
}

/** What somebody took upon himself, in his own words. */
export interface AcceptedGroup {
  readonly code: FindingCode;
  readonly severity: Severity;
  readonly reason: string;
  readonly machines: number;
}

export interface HostGroup {
  readonly host: string | null;
  readonly machines: number;
  readonly verdicts: { readonly [verdict in Verdict]: number };
}

export interface Totals {
  readonly found: readonly FoundGroup[];
  readonly accepted: readonly AcceptedGroup[];
  /** Machines left out on purpose, by reason. */
  readonly skipped: readonly { readonly reason: string; readonly machines: number }[];
  /** By name. */
  readonly hosts: readonly HostGroup[];
  /** Machines that are loaded though a finding says no, on somebody's word. */
  readonly risky: number;
}

/** Steps on Nova's rows that are alike. */
export interface NovaGroup {
  readonly table: string;
  readonly change: "create" | "update" | "delete";
  /** What changes: columns, or extra specs of a flavor. */
  readonly what: string;
  readonly rows: number;
}

export interface NovaTotals {
  readonly header: NovaPlanHeader;
  readonly counts: NovaPlanCounts;
  readonly groups: readonly NovaGroup[];
  /** What the steps found wrong in Nova, by code and place. */
  readonly findings: readonly {
    readonly code: FindingCode;
    readonly place: string;
    readonly message: string;
  }[];
}

export interface RanCommand {
  /** With the option that makes it other work: `finish --undo`. */
  readonly command: string;
  /** ISO 8601, UTC. */
  readonly at: string;
  /** Null: the log does not tell its end. */
  readonly seconds: number | null;
  readonly status: number | null;
  /** `done`, `refused`, or that no end was recorded. */
  readonly result: string;
  readonly by: string;
}

/** Machines or rows, and the seconds they took. */
interface Rate {
  readonly count: number;
  readonly seconds: number;
}

export interface Measured {
  readonly ran: readonly RanCommand[];
  /** Rows that apply wrote, by the journal. */
  readonly loaded: Rate | null;
  /** Rows that apply wrote on copies, by the last rehearsal, and what of Nova had none; absent: there was none. */
  readonly rehearsed?: Rate & { readonly nova: Unrehearsed };
  readonly handed: Rate | null;
}

export interface WindowStep {
  readonly name: string;
  readonly by: "command" | "hand";
  /** Null: nobody knows. */
  readonly seconds: number | null;
  /** `measured` in this run; `given` by an option; `estimate`: neither; `unknown`. */
  readonly basis: "measured" | "given" | "estimate" | "unknown";
  /** Where the figure comes from, in words. */
  readonly source: string;
}

/** A step with its place in the night, in seconds after the begin of the window. */
export interface NightStep extends WindowStep {
  readonly seconds: number;
  readonly begins: number;
  readonly ends: number;
  /** Seconds of the way back once this step is done. */
  readonly back: number;
}

export interface ReportVerdict {
  readonly level: "ready" | "risks" | "not-ready";
  /** One sentence with numbers. */
  readonly title: string;
  readonly lines: readonly string[];
}

/** All that a report says but the machines, which stream. */
export interface ReportFacts {
  /** Last part of the run's path. */
  readonly run: string;
  /** ISO 8601, UTC: when the report was made. */
  readonly at: string;
  readonly tool: string;
  readonly plan: {
    readonly header: PlanHeader;
    readonly counts: PlanCounts;
    readonly sha256: string;
    readonly taken_at: string | null;
  };
  readonly verdict: ReportVerdict;
  readonly totals: Totals;
  readonly nova: NovaTotals | null;
  readonly night: readonly NightStep[];
  /** As planned, in minutes after midnight; null: not given. */
  readonly window: { readonly from: number; readonly to: number } | null;
  readonly ran: readonly RanCommand[];
  readonly undo: readonly string[];
  readonly state: { readonly [stage: string]: string };
  readonly next: string;
}
