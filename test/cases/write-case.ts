import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Knex } from "knex";
import { isObject, type Json } from "../../src/lib/json.ts";
import { connect } from "../lab/connect.ts";
import type { Case } from "./case.ts";
import { loadIronic, loadNova, loadNovaApi, loadNovaBm, novaConfs } from "./load-case.ts";

/** The folder of a written case, and arguments for the commands. */
export interface WrittenCase {
  readonly folder: string;
  readonly extract: readonly string[];
  readonly ironic: readonly string[];
  readonly plan: readonly string[];
}

/** Creates a SQLite file to build tables in. */
export function sqliteFile(path: string): Knex {
  writeFileSync(path, "", { mode: 0o600 });
  return connect({ engine: "sqlite", database: path });
}

const NOBODY_ASKED = { finding: "N2I-D604", reason: "a sample has no BMCs" };

/** The case's site document. Without BMCs, it accepts that none is read. */
export function siteOf({ site, power }: Case): Json | undefined {
  if (power === true) return site;
  const given = isObject(site) ? site : { format: "nova2ironic/site@1" };
  const machines = Array.isArray(given.machines) ? (given.machines as readonly Json[]) : [];
  return { ...given, machines: [...machines, { match: {}, accept: [NOBODY_ASKED] }] };
}

export async function writeCase(given: Case, folder: string): Promise<WrittenCase> {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const build = async (name: string, work: (db: Knex) => Promise<void>): Promise<string> => {
    const path = join(folder, name);
    const db = sqliteFile(path);
    try {
      await work(db);
    } finally {
      await db.destroy();
    }
    return `sqlite:///${path}`;
  };
  const bm = await build("nova_bm.sqlite", (db) => loadNovaBm(db, "sqlite", given));
  const nova =
    given.nova === null ? null : await build("nova.sqlite", (db) => loadNova(db, "sqlite", given));
  const { nova_api } = given;
  const api =
    nova_api === undefined
      ? []
      : [
          "--nova-api-db",
          await build("nova_api.sqlite", (db) => loadNovaApi(db, "sqlite", nova_api)),
        ];
  const ironic = await build("ironic.sqlite", (db) => loadIronic(db, "sqlite", given));
  const confs = novaConfs(given).flatMap(({ host, text }, at) => {
    const path = join(folder, `nova-${at}.conf`);
    writeFileSync(path, text, { mode: 0o600 });
    return ["--nova-conf", host === "*" ? path : `${host}=${path}`];
  });
  const trees = Object.entries(given.tftp ?? {}).flatMap(([host, entries], at) => {
    const root = join(folder, `tftp-${at}`);
    writeTree(root, entries);
    return ["--tftp-root", host === "*" ? root : `${host}=${root}`];
  });
  const site = join(folder, "site.json");
  const decisions = siteOf(given);
  if (decisions !== undefined) writeFileSync(site, JSON.stringify(decisions, null, 2));
  return {
    folder,
    extract: [
      "--nova-bm-db",
      bm,
      ...(nova === null ? [] : ["--nova-db", nova]),
      ...confs,
      ...trees,
    ],
    ironic: ["--ironic-db", ironic],
    plan: [
      ...(decisions === undefined ? [] : ["--site", site]),
      ...(given.ironic?.release === undefined ? [] : ["--ironic-release", given.ironic.release]),
      ...(given.allow_pairing === true ? ["--allow-pairing"] : []),
      ...((given.ironic?.nodes ?? []).length > 0 ? ["--allow-other-nodes"] : []),
      ...(given.plan_nova === undefined || nova === null
        ? []
        : ["--nova-db", nova, ...api, ...given.plan_nova]),
    ],
  };
}

export function writeTree(root: string, entries: NonNullable<Case["tftp"]>[string]): void {
  mkdirSync(root, { recursive: true, mode: 0o755 });
  for (const [path, entry] of Object.entries(entries)) {
    const at = join(root, path);
    mkdirSync(dirname(at), { recursive: true, mode: 0o755 });
    if (entry === null) mkdirSync(at, { recursive: true });
    else if (typeof entry === "string") writeFileSync(at, entry, { mode: 0o644 });
    else symlinkSync(entry.link, at);
  }
}
