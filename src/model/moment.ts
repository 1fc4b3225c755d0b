/**
 * A moment as journals and readings have it, ISO 8601 in UTC, in two pieces: of minutes a night has few, and of both
 * together one an entry.
 */
export interface Moment {
  /** `2026-01-01T00:00:`; of what is written otherwise all of it. */
  readonly minute: string;
  /** Milliseconds of the minute; below 0 where the text is written otherwise. */
  readonly ms: number;
}

/** `2026-01-01T00:00:`. */
const MINUTE = 17;
const ZERO = 48;

export function split(text: string): Moment {
  const ms = msOf(text);
  return ms < 0 ? { minute: text, ms } : { minute: text.slice(0, MINUTE), ms };
}

export function join({ minute, ms }: Moment): string {
  if (ms < 0) return minute;
  const rest = 1000 + (ms % 1000);
  const second = 100 + (ms - (ms % 1000)) / 1000;
  return `${minute}${String(second).slice(1)}.${String(rest).slice(1)}Z`;
}

/** Of `SS.mmmZ` at the end, each character of it looked at: what is split is joined to the same text. */
function msOf(text: string): number {
  if (text.length !== MINUTE + 7 || text[MINUTE + 2] !== "." || text[MINUTE + 6] !== "Z") return -1;
  let ms = 0;
  for (const at of [0, 1, 3, 4, 5]) {
    const digit = text.charCodeAt(MINUTE + at) - ZERO;
    if (digit < 0 || digit > 9) return -1;
    ms = ms * 10 + digit;
  }
  return ms;
}
