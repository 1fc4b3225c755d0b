import fc from "fast-check";

const SURROGATES = { first: 0xd800, many: 0x800 };
const LAST = 0x10ffff;

const character = fc
  .integer({ min: 0, max: LAST - SURROGATES.many })
  .map((at) => String.fromCodePoint(at < SURROGATES.first ? at : at + SURROGATES.many));

/**
 * Text of any characters, control characters among them. It is `fc.string({ unit: "binary" })`
 * without its table of a million characters, which takes two seconds to build in each process.
 */
export const anyText: fc.Arbitrary<string> = fc.oneof(
  fc.string({ unit: character }),
  fc.string({ unit: "binary-ascii" }),
);
