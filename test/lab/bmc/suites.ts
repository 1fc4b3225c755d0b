/** Tags of the three algorithms of a cipher suite as they go over the wire, and what they mean. */
export interface Suite {
  readonly id: number;
  readonly authentication: number;
  readonly integrity: number;
  readonly confidentiality: number;
  /** Null for suite 0, which authenticates nobody. */
  readonly hash: "sha1" | "sha256" | null;
  /** Bytes of the codes in RAKP2 and RAKP3. */
  readonly fullCode: number;
  /** Bytes of the code in RAKP4 and after each packet. */
  readonly shortCode: number;
}

const SHA1 = { authentication: 1, hash: "sha1", fullCode: 20, shortCode: 12 } as const;
const SHA256 = { authentication: 3, hash: "sha256", fullCode: 32, shortCode: 16 } as const;

/** The suites this BMC can speak. */
export const SUITES: readonly Suite[] = [
  {
    ...{ id: 0, authentication: 0, integrity: 0, confidentiality: 0 },
    ...{ hash: null, fullCode: 0, shortCode: 0 },
  },
  { id: 1, integrity: 0, confidentiality: 0, ...SHA1 },
  { id: 2, integrity: 1, confidentiality: 0, ...SHA1 },
  { id: 3, integrity: 1, confidentiality: 1, ...SHA1 },
  { id: 15, integrity: 0, confidentiality: 0, ...SHA256 },
  { id: 16, integrity: 4, confidentiality: 0, ...SHA256 },
  { id: 17, integrity: 4, confidentiality: 1, ...SHA256 },
];

/** Bytes of the records that Get Channel Cipher Suites tells for these suites. */
export function suiteRecords(ids: readonly number[]): Buffer {
  const records = SUITES.filter(({ id }) => ids.includes(id)).flatMap((suite) => [
    ...[0xc0, suite.id, suite.authentication],
    ...[0x40 | suite.integrity, 0x80 | suite.confidentiality],
  ]);
  return Buffer.from(records);
}

/** The suite with exactly these algorithms. */
export function suiteOf(
  authentication: number,
  integrity: number,
  confidentiality: number,
): Suite | undefined {
  return SUITES.find(
    (suite) =>
      suite.authentication === authentication &&
      suite.integrity === integrity &&
      suite.confidentiality === confidentiality,
  );
}
