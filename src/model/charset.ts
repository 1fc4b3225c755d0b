/** What a plain text column of the charset cannot hold; one that is not here holds everything, or is unknown. */
export const BEYOND: { readonly [charset: string]: RegExp } = {
  utf8mb3: /[\ud800-\udfff]/,
  latin1: /[\u0100-\uffff]/,
  ascii: /[\u0080-\uffff]/,
};

/** A text column as its server keeps it. */
export interface StoredText {
  readonly table: string;
  readonly column: string;
  /** As MySQL names them, `utf8` as `utf8mb3`; on PostgreSQL that of the database. */
  readonly charset: string;
  /** MySQL's, with the column's type as MODIFY wants it; null where a column cannot be converted alone. */
  readonly own: {
    readonly collation: string;
    readonly type: string;
    readonly nullable: boolean;
  } | null;
  /** Rows that are looked at whose text is not plain ASCII; 0 where the charset is some UTF-8. */
  readonly odd: number;
}

/** Text that is not plain ASCII, and the column a plan writes it to. */
export interface OddText {
  readonly table: string;
  readonly column: string;
  readonly value: string;
}

export function isUtf8(charset: string): boolean {
  return /^utf-?8/i.test(charset);
}

/** Whether it has anything but printable ASCII. */
export function isOdd(value: string): boolean {
  return /[^ -~]/.test(value);
}
