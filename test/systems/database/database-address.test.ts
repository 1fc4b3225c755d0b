import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";
import { readDatabaseAddress } from "../../../src/systems/database/database-address.ts";
import { refusal, tempFolder } from "./temp-file.ts";

const NOVA = { option: "--nova-db", section: "database", key: "connection" };
const NOVA_BM = { option: "--nova-bm-db", section: "baremetal", key: "sql_connection" };
const SECRET = "mysql://nova:pa55@db/nova";

test("an address without a password may stand on the command line", async () => {
  const address = await readDatabaseAddress("mysql+pymysql://nova@db/nova", NOVA, {});
  assert.equal(address.label, "mysql://nova@db/nova");
  assert.equal(address.password(), null);
});

test("an address with a password may not, in whatever form", async () => {
  const refused = refusal("N2I-E101", /^--nova-db: the address contains a password$/);
  for (const spec of [
    SECRET,
    "postgresql://nova@db/nova?password=pa55",
    "mysql://db/nova?passwd=pa55",
    "postgresql://nova@db/nova?sslpassword=pa55",
  ])
    await assert.rejects(readDatabaseAddress(spec, NOVA, {}), refused);
});

test("a file may hold an address with a password, and its last line may end", async (t) => {
  const { write } = await tempFolder(t);
  const path = await write("url", `${SECRET}\n`);
  const address = await readDatabaseAddress(`file:${path}`, NOVA, {});
  assert.equal(address.password(), "pa55");
  assert.equal((await readDatabaseAddress(`file://${path}`, NOVA, {})).label, address.label);
});

test("the configuration of the service has the address, substituted, and the last file wins", async (t) => {
  const { write } = await tempFolder(t);
  const one = await write("nova.conf", "[baremetal]\nsql_connection = mysql://a@old/x\n");
  const two = await write("bm.conf", "[baremetal]\npw=pa$$5\nsql_connection=mysql://u:$pw@db/bm\n");
  const address = await readDatabaseAddress(`conf:${one},${two}`, NOVA_BM, {});
  assert.equal(address.label, "mysql://u@db/bm");
  assert.equal(address.password(), "pa$5");
});

test("[database] connection is found under its older names, the newest first", async (t) => {
  const { write } = await tempFolder(t);
  const old = await write("old", "[DEFAULT]\nsql_connection = mysql://u@old/n\n");
  const sql = await write("sql", "[sql]\nconnection = mysql://u@sql/n\n");
  const both = await write("both", "[database]\nconnection = mysql://u@new/n\n");
  const host = async (list: string) => (await readDatabaseAddress(`conf:${list}`, NOVA, {})).host;
  assert.equal(await host(old), "old");
  assert.equal(await host(sql), "sql");
  assert.equal(await host(`${both},${old}`), "new");
  const unset = /^--nova-bm-db: .*old does not set \[baremetal\] sql_connection$/;
  const reading = readDatabaseAddress(`conf:${old}`, NOVA_BM, {});
  await assert.rejects(reading, refusal("N2I-E102", unset));
});

test("a variable may hold an address with a password, and neither JSON nor a printed object holds the password", async () => {
  const address = await readDatabaseAddress("env:X", NOVA, { X: SECRET });
  assert.equal(address.password(), "pa55");
  const all = inspect({ address }, { depth: 9 });
  for (const printed of [JSON.stringify({ address }), all, `${address}`])
    assert.ok(!printed.includes("pa55"), printed);
  assert.ok(!/password/.test(inspect(address) + JSON.stringify(address)));
  assert.match(inspect(address), /label: 'mysql:\/\/nova@db\/nova'/);
  assert.ok(!inspect({ ...address }, { depth: 9, showHidden: true }).includes("pa55"));
});

test("faults name the option and the place, and never the address", async (t) => {
  const { folder, write } = await tempFolder(t);
  const lines = await write("lines", `${SECRET}\n${SECRET}\n`);
  const latin = await write("latin", Buffer.from("mysql://u:pa55\xe9@db/n", "latin1"));
  const broken = await write("broken", "[database]\nconnection mysql//pa55\n");
  const noDb = await write("no-db", "\n[database]\nconnection = mysql://u:pa55@db\n");
  const cycle = await write("cycle", "[database]\nconnection = $connection\n");
  const path = await write("path", "[database]\nconnection = sqlite:///$state_path/n.sqlite\n");
  const cases = [
    [`file:${lines}`, "N2I-E102", /lines: the address contains a line break/],
    [`file:${latin}`, "N2I-E102", /latin: the address is not UTF-8/],
    [`file:${folder}/none`, "N2I-E110", /cannot read .*none: no such file/],
    [`file:${folder}`, "N2I-E110", /not a regular file/],
    [`file:${SECRET}`, "N2I-E102", /file: requires the path of a file/],
    ["file://nova:pa55@db/nova", "N2I-E102", /file: requires the path of a file/],
    ["file:", "N2I-E102", /file: requires the path of a file/],
    [`env:${SECRET}`, "N2I-E102", /env: requires the name of a variable/],
    ["env:NONE", "N2I-E102", /variable NONE is not set/],
    ["env:toString", "N2I-E102", /variable toString is not set/],
    ["env:BAD", "N2I-E102", /variable BAD: the port is not/],
    [`conf:${folder}/none`, "N2I-E110", /cannot read/],
    [`conf:${broken},`, "N2I-E102", /conf: requires the path of a file/],
    [`conf:${broken}`, "N2I-E102", /broken:2: neither/],
    [`conf:${cycle}`, "N2I-E102", /cycle:2: \$connection -> \$connection/],
    [`conf:${noDb}`, "N2I-E102", /no-db:3: the address cannot be parsed, or has no/],
    [`conf:${path}`, "N2I-E102", /path:2: no option sets \$state_path/],
    ["nova:pa55@db/nova", "N2I-E102", /no scheme/],
    ["", "N2I-E102", /no scheme/],
  ] as const;
  const env = { BAD: "mysql://u:pa55@db:x/n" };
  for (const [spec, code, says] of cases) {
    const read = readDatabaseAddress(spec, NOVA, env);
    await assert.rejects(read, refusal(code, /^--nova-db: /), spec);
    await assert.rejects(read, refusal(code, says), spec);
  }
});
