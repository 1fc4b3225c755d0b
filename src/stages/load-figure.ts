import { ownershipOf } from "../engine/ownership.ts";
import { type Entry, IRONIC } from "../model/journal.ts";
import type { Figure } from "./journey.ts";
import type { RunFiles } from "./run-files.ts";

/**
 * What the journal knows of how fast this run loads: for the rows of the plan that are not there yet.
 * Null where it has loaded nothing.
 */
export function loadFigure(files: RunFiles): Figure | null {
  const { journal, plan } = files;
  if ("missing" in journal || "missing" in plan) return null;
  const { rows, seconds } = pace(journal.entries);
  if (rows === 0 || seconds <= 0) return null;
  const { rows: loaded, preExisting } = ownershipOf(journal.entries, IRONIC, plan.sha256);
  const there = [...loaded.values()].reduce((sum, more) => sum + more, preExisting.size);
  const left = Math.max(0, plan.counts.nodes + plan.counts.ports - there);
  const rate = rows / seconds;
  return { seconds: left / rate, from: `${rate.toFixed(rate < 10 ? 1 : 0)} rows a second so far` };
}

function pace(entries: readonly Entry[]): { readonly rows: number; readonly seconds: number } {
  let [rows, seconds, began] = [0, 0, Number.NaN];
  for (const entry of entries) {
    if (!("at" in entry) || !("part" in entry) || entry.part !== "ironic") continue;
    if (entry.do === "begin") began = Date.parse(entry.at);
    if (entry.do !== "done" || !("created" in entry) || Number.isNaN(began)) continue;
    rows += entry.created;
    seconds += (Date.parse(entry.at) - began) / 1000;
    began = Number.NaN;
  }
  return { rows, seconds };
}
