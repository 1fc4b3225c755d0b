/**
 * Characters that move a terminal's cursor, change its colours, or reverse the reading direction:
 * C0 and C1 controls, bidirectional marks, line separators and halves of surrogate pairs.
 */
export const UNSEEN = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]|\p{Surrogate}/gu;
