import assert from "node:assert/strict";
import { test } from "node:test";
import { createQuotes, withoutSecrets } from "../../../src/lib/quotes.ts";

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
    assert.equal(withoutSecrets(line), masked);
});

test("a line of any length is quoted in short", () => {
  const quotes = createQuotes();
  quotes.add([at(1, `ERROR ${UUID} ${"x".repeat(100_000)}`)], new Set([UUID]));
  assert.equal(quotes.of(UUID)[0]?.length, 503);
});
