import type { NightStep } from "../rules/facts.ts";
import { escaped } from "./markup.ts";

/** Radius at which a circle's line is 100 long, so that a share is its length. */
const RADIUS = 15.9155;

/** Shares of a whole as a ring; its colours are classes, as the page allows no style but its own. */
export function ring(
  total: number,
  parts: readonly { readonly name: string; readonly count: number }[],
): string {
  let before = 0;
  const arcs = parts.map(({ name, count }) => {
    const share = total === 0 ? 0 : (100 * count) / total;
    const arc = `<circle class="arc ${name}" cx="21" cy="21" r="${RADIUS}" stroke-dasharray="${share.toFixed(3)} ${(100 - share).toFixed(3)}" stroke-dashoffset="${(25 - before).toFixed(3)}"/>`;
    before += share;
    return arc;
  });
  const told = parts.map(({ name, count }) => `${count} ${name}`).join(", ");
  return `<svg class="ring" viewBox="0 0 42 42" role="img" aria-label="Of ${total} machines: ${escaped(told)}">
<circle class="arc empty" cx="21" cy="21" r="${RADIUS}"/>
${arcs.join("\n")}
<text x="21" y="21.5" class="large">${total}</text><text x="21" y="26" class="small">machines</text>
</svg>`;
}

/** A number against the largest of its column, those that were accepted lighter. */
export function bar(severity: string, open: number, accepted: number, largest: number): string {
  const width = (count: number): number => (count === 0 ? 0 : Math.max(1, (100 * count) / largest));
  const [first, second] = [width(open), width(accepted)];
  return `<svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true"><rect class="${severity}" width="${first.toFixed(2)}" height="8"/><rect class="accepted" x="${first.toFixed(2)}" width="${second.toFixed(2)}" height="8"/></svg>`;
}

/** Where a step stands in the night. */
export function span(night: readonly NightStep[], at: number): string {
  const [step, total] = [night[at], night.at(-1)?.ends ?? 0];
  if (step === undefined || total === 0) return "";
  const [x, width] = [(96 * step.begins) / total, Math.max(0.7, (96 * step.seconds) / total)];
  return `<svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true"><rect class="${step.basis}" x="${x.toFixed(2)}" width="${width.toFixed(2)}" height="8"/></svg>`;
}
