import assert from "node:assert/strict";
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { Engine } from "../../src/model/database.ts";
import type { Case } from "../cases/case.ts";
import type { TestDatabase } from "../lab/index.ts";
import { type Canary, canary, type Find, finder, search } from "./canaries.ts";
import { type Ran, run } from "./cli.ts";
import { deploy } from "./deployment.ts";
import { SITE, tenant } from "./fleet.ts";

/** A deployment with a canary in every field that holds a secret, and what looks for them. */
export type Secrets = Awaited<ReturnType<typeof deploySecrets>>;

/** The one variable of the environment an operator put a secret into. */
export const VARIABLE = "NOVA_DATABASE";

function caseWith(made: (name: string) => string): Case {
  return {
    shows: "a secret in every field that can hold one",
    nova_bm: {
      columns: {
        bm_nodes: { vendor_password: "varchar(255)", api_token: "varchar(255)" },
        bm_interfaces: { switch_secret: "varchar(255)" },
      },
      nodes: [
        tenant(1, { pm_password: made("pm_password"), deploy_key: made("deploy_key") }),
        { id: 2, pm_password: made("pm_password 2"), vendor_password: made("fork column") },
        { id: 3, service_host: "vm-host", pm_password: made("unused pm_password") },
        { id: 4, api_token: made("fork column nobody decided on") },
        { id: 5, service_host: "iboot-host", pm_password: made("iBoot password") },
        tenant(6, { task_state: "building", pm_password: made("blocked machine's") }),
      ],
    },
    nova_conf: {
      "compute-1": { flavor_extra_specs: "cpu_arch:x86_64" },
      "vm-host": {
        power_manager: "nova.virt.baremetal.virtual_power_driver.VirtualPowerManager",
        virtual_power_ssh_host: "192.0.2.7",
        virtual_power_host_user: "stack",
        virtual_power_host_pass: made("virtual_power_host_pass").replaceAll("$", "$$"),
      },
      "iboot-host": { power_manager: "nova.virt.baremetal.iboot_pdu.IBootManager" },
    },
    site: {
      ...SITE,
      drop: {
        "bm_nodes.vendor_password": "the vendor's tool is gone",
        "bm_interfaces.switch_secret": "the switches are gone",
      },
    },
  };
}

/** @param caseOf makes the case of canaries it asks for by name */
export async function deploySecrets(
  engine: Engine,
  t: TestContext,
  caseOf: (made: (name: string) => string) => Case = caseWith,
) {
  const canaries: Canary[] = [];
  const watch = (one: Canary): Canary => {
    canaries.push(one);
    return one;
  };
  const given = caseOf((name) => watch(canary(name)).text);
  const made = await deploy(engine, t, given);
  const secret = (name: string, between?: string): string => watch(canary(name, between)).text;
  if (await made.bm.db.schema.hasColumn("bm_interfaces", "switch_secret"))
    await made.bm.db("bm_interfaces").update({ switch_secret: secret("fork interface column") });
  const instance_uuid = "b0000000-0000-4000-8000-000000000001";
  await made.nova
    .db("instances")
    .where({ uuid: instance_uuid })
    .update({ user_data: secret("user_data"), key_data: secret("key_data") });
  await made.nova
    .db("instance_system_metadata")
    .insert({ instance_uuid, key: "password_0", value: secret("admin password"), deleted: 0 });

  const url = (role: string) => readFileSync(join(made.folder, `${role}.url`), "utf8").trim();
  const urls: Record<string, string> = {};
  for (const [role, on] of Object.entries({
    bm: made.bm,
    nova: made.nova,
    reader: made.ironic,
    writer: made.ironic,
    writes: made.nova,
  }))
    urls[role] = await withPassword(on, made.users[role] ?? "", url(role), secret(`${role}'s URL`));
  const conf = join(made.folder, "nova-0.conf");
  appendFileSync(
    conf,
    `sql_connection = ${urls.bm?.replaceAll("$", "$$")}\n[DEFAULT]\nrabbit_password = ${secret("rabbit_password", "#")}\n`,
  );
  for (const role of ["reader", "writer", "writes"])
    writeFileSync(join(made.folder, `${role}.url`), `${urls[role]}\n`);
  const rest = made.source.slice(made.source.indexOf("--nova-conf"));
  const source: readonly string[] = [
    ...["--nova-bm-db", `conf:${conf}`, "--nova-db", `env:${VARIABLE}`, ...rest],
  ];
  const home = join(made.folder, "home");
  mkdirSync(home);
  const own = { [VARIABLE]: urls.nova ?? "" };
  const env = { ...own, TMPDIR: home, HOME: home };
  const folders = [join(made.folder, "runs"), home];
  const find: Find = (place, bytes) => finder(canaries)(place, bytes);
  /** Runs the tool; gives what it printed and every leak there and in the files it wrote. */
  const tried = async (words: readonly string[]) => {
    // The command runs in this process: its temporary files are to be found too.
    const before = ["TMPDIR", "HOME"].map((name) => [name, process.env[name]] as const);
    Object.assign(process.env, { TMPDIR: home, HOME: home });
    const ran = await run(words, { env: own }).finally(() => {
      for (const [name, value] of before)
        if (value === undefined) delete process.env[name];
        else process.env[name] = value;
    });
    return { ...ran, leaks: search(finder(canaries), ran, folders) };
  };
  return {
    ...made,
    ...{ canaries, env, source, watch, tried, find },
    /** The same, of a command that ends so and leaks nothing. */
    async silently(status: number, words: readonly string[]): Promise<Ran> {
      const { leaks, ...ran } = await tried(words);
      assert.equal(ran.status, status, `${words.join(" ")}\n${ran.out}${ran.err}`);
      assert.deepEqual(leaks, [], words.join(" "));
      return ran;
    },
  };
}

/** Gives a user this password, and its address with it; a file has none. */
async function withPassword(
  { engine, db }: TestDatabase,
  user: string,
  url: string,
  password: string,
): Promise<string> {
  if (engine === "sqlite") return url;
  const quoted = password.replaceAll("'", "''").replaceAll("?", "\\?");
  await db.raw(
    engine === "mysql"
      ? `ALTER USER '${user}'@'127.0.0.1' IDENTIFIED BY '${quoted.replaceAll("\\", "\\\\").replaceAll("\\\\?", "\\?")}'`
      : `ALTER ROLE ${user} PASSWORD '${quoted}'`,
  );
  return url.replace(/:[0-9a-f]{32}@/, `:${encodeURIComponent(password)}@`);
}

/** Asks BMCs that do not answer, each at an address of its own, and looks for secrets. */
export async function asked(
  t: TestContext,
  addresses: readonly string[],
  { deleted = [] }: { readonly deleted?: readonly number[] } = {},
): Promise<void> {
  const made = await deploySecrets("sqlite", t);
  const nodes = (id: number) => made.bm.db("bm_nodes").where({ id });
  for (const [at, id] of [1, 2, 4, 5, 6].entries())
    await nodes(id).update({ pm_address: addresses[at] });
  for (const id of deleted) await nodes(id).update({ deleted: 1 });
  await made.tried(["extract", ...made.at, ...made.source]);
  const how = ["--deadline", "1", "--list", "--debug", "-f", "json"];
  await made.silently(3, ["power", ...made.at, ...how]);
}
