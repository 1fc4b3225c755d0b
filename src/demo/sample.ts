import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openRole } from "../run/databases.ts";
import { loadTables } from "../run/files/load-tables.ts";
import { packageRoot } from "../run/files/package-root.ts";
import { createTables } from "../systems/database/create-tables.ts";

const DATABASES = ["nova_bm", "nova", "ironic"] as const;

/** fixtures/demo/sample.json, which `npm run test:update` makes from the case next to it. */
interface Sample {
  readonly databases: {
    readonly [name in (typeof DATABASES)[number]]: {
      readonly version: number | string;
      readonly rows: { readonly [table: string]: readonly object[] };
    };
  };
  /** Texts of nova.conf by host. */
  readonly nova_conf: { readonly [host: string]: string };
  readonly site: object;
}

/** SQLite limits the values of a statement. */
const ROWS_AT_ONCE = 50;

/**
 * Writes the sample deployment.
 *
 * @returns the arguments of `extract`, `plan` and all commands that need Ironic or Nova, with paths
 *   relative to the folder
 */
export async function writeSample(folder: string) {
  const text = readFileSync(join(packageRoot(), "fixtures", "demo", "sample.json"), "utf8");
  // Part of the package, and compared with its case by a test.
  const { databases, nova_conf, site } = JSON.parse(text) as Sample;
  for (const name of DATABASES) {
    const path = join(folder, `${name}.sqlite`);
    writeFileSync(path, "", { mode: 0o600 });
    const how = { readOnly: false, autocommit: true };
    const { knex, close } = await openRole("ironic-db", `sqlite:///${path}`, how);
    const { version, rows } = databases[name];
    try {
      await createTables(knex, loadTables(name, version), { engine: "sqlite" });
      for (const [table, all] of Object.entries(rows))
        await knex.batchInsert(table, [...all], ROWS_AT_ONCE);
    } finally {
      await close();
    }
  }
  const confs = Object.entries(nova_conf).flatMap(([host, conf], at) => {
    writeFileSync(join(folder, `nova-${at}.conf`), conf, { mode: 0o600 });
    return ["--nova-conf", `${host}=nova-${at}.conf`];
  });
  writeFileSync(join(folder, "site.json"), JSON.stringify(site, null, 2));
  const nova = ["--nova-db", "sqlite:///nova.sqlite"];
  return {
    extract: ["--nova-bm-db", "sqlite:///nova_bm.sqlite", ...nova, ...confs],
    plan: ["--site", "site.json", "--ironic-release", String(databases.ironic.version)],
    ironic: ["--ironic-db", "sqlite:///ironic.sqlite"],
    nova,
  };
}
