import type { RunFiles } from "../../src/run/files/run-files.ts";

export const SHA = "a".repeat(64);

export const SNAPSHOT: RunFiles["snapshot"] = {
  counts: { machines: 2, deleted: 0, interfaces: 2, orphans: 0, instances: 0 },
  sha256: "b".repeat(64),
  taken_at: "2026-11-21T00:00:00Z",
};

export const COUNTS = {
  ...{ machines: 2, nodes: 2, ports: 2, findings: {} },
  verdicts: { create: 2, unchanged: 0, drift: 0, conflict: 0, blocked: 0, skipped: 0 },
};

export const PLAN = { counts: COUNTS, sha256: SHA, madeFrom: "b".repeat(64), release: "juno" };
