import { show } from "../../lib/text.ts";
import { credentialFault, decodedCredential } from "../../model/charset.ts";
import { type Finding, type FindingCode, finding } from "../../model/findings.ts";
import type { ColumnValues, Decoded, Value } from "../../model/machine.ts";
import { isSecretName, type Seal } from "../../model/secret.ts";
import { softDeleted } from "../database/deleted.ts";
import { boolean, integer, near, plain, type RawRow, text, time } from "../database/rows.ts";

/**
 * A number if possible, also of DECIMAL columns. Other values of SQLite and forks stay unchanged.
 */
function exact(raw: unknown): Value {
  const got = plain(raw);
  const trimmed = typeof got === "string" ? got.replace(/^(-?\d{1,15})\.0+$/, "$1") : raw;
  return integer(trimmed) ?? got;
}

/** An empty text is not a uuid. */
function nonEmpty(raw: unknown): string | null {
  const got = text(raw);
  return got?.trim() === "" ? null : got;
}

/** Old MySQL stores a missing date as a zero date. */
function impossible(raw: unknown): boolean {
  const got = text(raw);
  return got !== null && time(raw) === null && !got.startsWith("0000-00-00");
}

/** @param value the converted value, which usually shows no fault */
type Fault = (raw: unknown, value: Value) => readonly [FindingCode, string] | null;

const dateFault: Fault = (raw, value) =>
  value === null && impossible(raw) ? ["N2I-D019", `${show(text(raw) ?? "")} is not a date`] : null;

const idFault: Fault = (raw, value) =>
  Number.isSafeInteger(value ?? 0) ? null : ["N2I-D020", `it is ${text(raw)}`];

const FAULTS: { readonly [column: string]: Fault } = {
  id: idFault,
  bm_node_id: idFault,
  created_at: dateFault,
  updated_at: dateFault,
  deleted: (raw, value) =>
    value === false && softDeleted(raw) === "unreadable"
      ? ["N2I-D017", `deleted is ${show(text(raw) ?? "")}`]
      : null,
};

const NUMBERS = [
  ...["cpus", "memory_mb", "local_gb", "terminal_port", "root_mb", "swap_mb", "ephemeral_mb"],
  ...["port_no", "prov_vlan_id"],
];

const PARSERS: { readonly [column: string]: (raw: unknown) => Value } = {
  id: near,
  bm_node_id: (raw) => (raw === null || raw === undefined ? null : near(raw)),
  instance_uuid: nonEmpty,
  vif_uuid: nonEmpty,
  ...Object.fromEntries(NUMBERS.map((column) => [column, exact])),
  /** An unreadable value counts as live. Its finding blocks the machine. */
  deleted(raw) {
    const deleted = softDeleted(raw);
    return deleted === "unreadable" ? false : deleted;
  },
  preserve_ephemeral: boolean,
  created_at: time,
  updated_at: time,
  deleted_at: time,
};

/** Columns of every schema version. */
export const ALWAYS: { readonly [table: string]: readonly string[] } = {
  bm_nodes: [
    ...["cpus", "created_at", "deleted", "id", "instance_name", "instance_uuid", "local_gb"],
    ...["memory_mb", "pm_address", "pm_password", "pm_user", "service_host", "task_state"],
    ...["terminal_port", "updated_at", "uuid"],
  ],
  bm_interfaces: ["address", "bm_node_id", "deleted", "id", "vif_uuid"],
};

/** Columns of any schema version. @source facts/nova-bm.md 1.2, 1.3 */
const SCHEMA: { readonly [table: string]: ReadonlySet<string> } = {
  bm_nodes: new Set([
    ...(ALWAYS.bm_nodes ?? []),
    ...["deleted_at", "deploy_key", "ephemeral_mb", "image_path", "preserve_ephemeral"],
    ...["prov_mac_address", "prov_vlan_id", "pxe_config_path", "registration_status"],
    ...["root_mb", "swap_mb"],
  ]),
  bm_interfaces: new Set([
    ...(ALWAYS.bm_interfaces ?? []),
    ...["created_at", "datapath_id", "deleted_at", "port_no", "updated_at"],
  ]),
};

export function unknownColumns(table: string, columns: readonly string[]): readonly string[] {
  return columns.filter((column) => SCHEMA[table]?.has(column) !== true);
}

export interface ReadRow {
  readonly row: object;
  readonly findings: readonly Finding[];
  /** Corrected credentials that look like UTF-8 in a Latin-1 column. */
  readonly decoded?: Decoded;
}

const CREDENTIALS: ReadonlySet<string> = new Set(["pm_user", "pm_password"]);

const ODD = {
  nul: ["N2I-D009", "contains a NUL character"],
  "utf8-as-latin1": ["N2I-D125", "reads like UTF-8 stored in a Latin-1 column"],
  "not-ascii": ["N2I-D306", "is not plain ASCII"],
} as const satisfies Record<string, readonly [FindingCode, string]>;

/**
 * Seals secrets. Columns that the schema lacks are NULL. Unknown columns go to `extra`.
 *
 * @param ownerOf names the owner of a row's secrets
 */
export function rowReader(
  table: string,
  columns: readonly string[],
  seal: Seal,
  ownerOf: (raw: RawRow) => string,
): (raw: RawRow) => ReadRow {
  const absent = (ALWAYS[table] ?? []).filter((column) => !columns.includes(column));
  const readers = columns.map((column) => ({
    column,
    secret: isSecretName(column),
    native: SCHEMA[table]?.has(column) === true,
    fault: FAULTS[column],
    read: PARSERS[column] ?? (SCHEMA[table]?.has(column) === true ? text : plain),
  }));
  // A copy of it has the final size and column order.
  const names = [...absent, ...readers.flatMap(({ native, column }) => (native ? [column] : []))];
  const empty: Readonly<Record<string, Value>> = Object.fromEntries(
    names.map((column) => [column, null]),
  );
  return (raw) => {
    const row: Record<string, Value | ColumnValues> = { ...empty };
    const extra: Record<string, Value> = {};
    const findings: Finding[] = [];
    const decoded: Record<string, NonNullable<Decoded["pm_user" | "pm_password"]>> = {};
    for (const { column, secret, native, fault, read } of readers) {
      const value = read(raw[column]);
      const wrong = fault?.(raw[column], value) ?? null;
      if (wrong !== null) findings.push(finding(wrong[0], placed(table, raw, column), wrong[1]));
      if (!native && value === null) continue;
      const into: Record<string, Value | ColumnValues> = native ? row : extra;
      into[column] = value;
      if (value === null || !(secret || CREDENTIALS.has(column))) continue;
      const clear = String(value);
      if (secret) into[column] = seal.seal(clear, ownerOf(raw));
      const odd = credentialFault(clear);
      // For text that is not a secret, `inspect` reports a NUL.
      if (odd === null || (odd === "nul" && !secret)) continue;
      findings.push(finding(ODD[odd][0], placed(table, raw, column), ODD[odd][1]));
      const meant = decodedCredential(clear);
      if (meant !== null && CREDENTIALS.has(column))
        decoded[column] = secret ? seal.seal(meant, ownerOf(raw)) : meant;
    }
    if (Object.keys(extra).length > 0) row.extra = extra;
    return { row, findings, ...(Object.keys(decoded).length > 0 && { decoded }) };
  };
}

function placed(table: string, raw: RawRow, column: string): string {
  return `${table}.id=${text(raw.id)} ${column}`;
}
