import type { PlanCounts, PlanHeader } from "../../../model/artefact.ts";
import type { FindingCode, Severity } from "../../../model/findings.ts";
import type { NovaPlanCounts } from "../../../model/nova/nova-plan.ts";
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
  /** Without duplicates. */
  readonly codes: readonly FindingCode[];
}

/** A machine in the plan and in the report. */
export interface Reported {
  readonly machine: ReportMachine;
  readonly planned: PlannedMachine;
}

export interface FoundGroup {
  readonly code: FindingCode;
  readonly severity: Severity;
  readonly machines: number;
  /** Machines that are not skipped, without an acceptance. */
  readonly open: number;
  readonly accepted: number;
  /** Number of findings without a machine. */
  readonly elsewhere: number;
  /** UUIDs of the first open machines. */
  readonly examples: readonly string[];
}

/** An accepted finding with the operator's reason. */
export interface AcceptedGroup {
  readonly code: FindingCode;
  readonly severity: Severity;
  readonly reason: string;
  readonly machines: number;
}

export interface Totals {
  readonly found: readonly FoundGroup[];
  readonly accepted: readonly AcceptedGroup[];
  /** Machines skipped by the site document, by reason. */
  readonly skipped: readonly { readonly reason: string; readonly machines: number }[];
  /** By name. */
  readonly hosts: readonly {
    readonly host: string | null;
    readonly machines: number;
    readonly verdicts: { readonly [verdict in Verdict]: number };
  }[];
  /** Machines that are loaded because a blocking finding was accepted. */
  readonly risky: number;
}

export interface NovaTotals {
  readonly counts: NovaPlanCounts;
  /** Groups of similar steps. */
  readonly groups: readonly {
    readonly table: string;
    readonly change: "create" | "update" | "delete";
    /** Changed columns, or extra specs of a flavor. */
    readonly what: string;
    readonly rows: number;
  }[];
  /** Findings of the steps, by code and place. */
  readonly findings: readonly {
    readonly code: FindingCode;
    readonly place: string;
    readonly message: string;
  }[];
}

export interface RanCommand {
  /** With an option that changes its effect: `finish --undo`. */
  readonly command: string;
  /** ISO 8601, UTC. */
  readonly at: string;
  /** Null: the log has no end. */
  readonly seconds: number | null;
  readonly status: number | null;
  /** `done`, `refused`, or that no end was recorded. */
  readonly result: string;
  readonly by: string;
}

interface Rate {
  readonly count: number;
  readonly seconds: number;
}

export interface Measured {
  readonly ran: readonly RanCommand[];
  /** Rows that apply wrote, from the journal. */
  readonly loaded: Rate | null;
  /** Rows that apply wrote on copies, from the last rehearsal, if any. */
  readonly rehearsed?: Rate & { readonly nova: Unrehearsed };
  readonly handed: Rate | null;
}

export interface WindowStep {
  readonly name: string;
  readonly by: "command" | "hand";
  /** Null: unknown. */
  readonly seconds: number | null;
  /** `measured` in this run; `given` by an option; `estimate`: neither; `unknown`. */
  readonly basis: "measured" | "given" | "estimate" | "unknown";
  /** The source of the figure. */
  readonly source: string;
}

/** A step with its start and end, in seconds after the start of the window. */
export interface NightStep extends WindowStep {
  readonly seconds: number;
  readonly begins: number;
  readonly ends: number;
  /** Seconds of the rollback after this step. */
  readonly back: number;
}

/** The report without its machines, which are streamed. */
export interface ReportFacts {
  /** Last part of the run's path. */
  readonly run: string;
  /** Time of the report, ISO 8601, UTC. */
  readonly at: string;
  readonly tool: string;
  readonly plan: {
    readonly header: PlanHeader;
    readonly counts: PlanCounts;
    readonly sha256: string;
    readonly taken_at: string | null;
  };
  readonly verdict: {
    readonly level: "ready" | "risks" | "not-ready";
    /** One sentence with numbers. */
    readonly title: string;
    readonly lines: readonly string[];
  };
  readonly totals: Totals;
  readonly nova: NovaTotals | null;
  readonly night: readonly NightStep[];
  /**
   * The planned time in minutes after midnight. If it passes midnight, `to` is after 24:00. Null:
   * unknown.
   */
  readonly window: { readonly from: number; readonly to: number } | null;
  readonly ran: readonly RanCommand[];
  readonly undo: readonly string[];
  readonly state: { readonly [stage: string]: string };
  readonly next: string;
}
