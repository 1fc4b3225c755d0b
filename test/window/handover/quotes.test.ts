import assert from "node:assert/strict";
import { test } from "node:test";
import { createQuotes, logFaults, quote } from "../../../src/lib/quotes.ts";

const UUID = "a0000000-0000-4000-8000-000000000001";
const OTHER = "a0000000-0000-4000-8000-000000000002";
const at = (second: number, text: string): string => `2026-01-01 00:00:0${second}.000 7 ${text}`;

test("the last lines that name a machine are quoted, the bad ones alone where there are some", () => {
  const quotes = createQuotes();
  const watched = new Set([UUID]);
  const debug = at(1, `DEBUG ironic taking over node ${UUID}`);
  quotes.add([debug, at(1, `ERROR ironic of ${OTHER}`)], watched);
  assert.deepEqual(quotes.of(UUID), [debug]);
  const bad = [2, 3, 4, 5].map((second) => at(second, `ERROR ironic ${UUID} failed ${second}`));
  quotes.add(bad, watched);
  assert.deepEqual(quotes.of(UUID), bad.slice(-3));
  quotes.forget(UUID);
  assert.deepEqual(quotes.of(UUID), []);
});

test("what ends the takeover of all is quoted for each, once however often it comes back", () => {
  const quotes = createQuotes();
  const trace = (second: number): string =>
    at(second, "ERROR futurist.periodics Failed to call periodic '_sync_local_state': ansible");
  const frame = at(1, "ERROR futurist.periodics   File manager.py in _sync_local_state");
  assert.deepEqual(quotes.add([trace(1), frame], new Set()), [trace(1)]);
  assert.deepEqual(quotes.add([trace(4), frame], new Set()), []);
  assert.deepEqual(quotes.of(UUID), [trace(4)]);
});

test("no secret of a log is quoted", () => {
  for (const [line, masked] of [
    ["{'ipmi_password': 'p w\\'x', 'a': 1}", "{'ipmi_password': ***, 'a': 1}"],
    ['{"snmp_community": "public"}', '{"snmp_community": ***}'],
    ["password=pw, user=u", "password=***, user=u"],
    ["ipmitool -H h -P hunter2 power", "ipmitool -H h -P *** power"],
    ["mysql+pymysql://ironic:p@ss@db/ironic", "mysql+pymysql://ironic:***@db/ironic"],
    ["+ mysqldump -u root -phunter2 nova | gzip -p", "+ mysqldump -u root -p*** nova | gzip -p"],
    ["+ /usr/bin/mysql '-ph u$2' -e x", "+ /usr/bin/mysql -p*** -e x"],
    ["+ mkdir -pv /mysql/x; cp -pr a b", "+ mkdir -pv /mysql/x; cp -pr a b"],
    ["+ curl -u admin:p@ss:1 http://x", "+ curl -u *** http://x"],
    ["+ curl --user 'admin:a b' -s x", "+ curl --user *** -s x"],
    ["+ curl -uadmin:pw x; sort -u f", "+ curl -u*** x; sort -u f"],
    ["['curl', '-u', 'admin:secret', 'x']", "['curl', '-u', ***, 'x']"],
    ["+ curl -su admin:secret x", "+ curl -su *** x"],
    ["+ journalctl -u nova-compute -n 5", "+ journalctl -u nova-compute -n 5"],
    ["X-Auth-Token: gAAAA", "X-Auth-Token: ***"],
  ] as const)
    assert.equal(quote(line), masked);
});

test("a line of any length is quoted in short", () => {
  const quotes = createQuotes();
  quotes.add([at(1, `ERROR ${UUID} ${"x".repeat(100_000)}`)], new Set([UUID]));
  assert.equal(quotes.of(UUID)[0]?.length, 503);
});

const AT = "2023-05-01 10:00:00.1 77";

async function faults(...texts: readonly string[]): Promise<readonly string[]> {
  async function* lines() {
    for (const [at, text] of texts.entries()) yield { line: at + 1, text };
  }
  const found: string[] = [];
  for await (const { line, text } of logFaults(lines())) found.push(`${line} ${text}`);
  return found;
}

test("each of the rules finds its line, and nothing else is a fault", async () => {
  const bad = [
    `${AT} ERROR ironic.a [-] no`,
    `${AT} CRITICAL ironic.a [-] no`,
    `${AT} WARNING ironic.a [-] Cannot validate power`,
    `${AT} WARNING ironic.a [-] Failed to set DHCP BOOT options for a port`,
    `${AT} WARNING ironic.a [-] MissingParameterValue`,
    `${AT} WARNING ironic.a [-] Conductor with hostname c was previously registered.`,
  ];
  const fine = [
    `${AT} INFO ironic.a [-] Successfully started conductor with hostname c.`,
    `${AT} DEBUG ironic.a [-] no ERRORS here`,
    "",
  ];
  const found = await faults(...bad.flatMap((line) => [...fine, line]));
  const wanted = bad.map((line, at) => `${4 * at + 4} ${line}`);
  assert.deepEqual(found, wanted);
});

test("a trace is one fault, whether oslo's or bare, and the next line with a context another", async () => {
  const oslo = ["Traceback (most recent call last):", '  File "a.py", line 1', "KeyError: 'x'"].map(
    (text) => `${AT} ERROR ironic.a ${text}`,
  );
  const error = `${AT} ERROR ironic.b [req-1] again`;
  assert.deepEqual(await faults(...oslo, error), [`1 ${oslo[0]} ... ${oslo[2]}`, `4 ${error}`]);
  const bare = ["Traceback (most recent call last):", "  File x", "ValueError: no"];
  assert.deepEqual(await faults(...bare, error), [`1 ${bare[0]} ... ${bare[2]}`, `4 ${error}`]);
  const first = "May  1 10:00:00 c ironic: Traceback (most recent call last):";
  const syslog = [first, "May  1 10:00:01 c ironic: fine"];
  assert.deepEqual(await faults(...syslog), [`1 ${syslog[0]}`]);
});
