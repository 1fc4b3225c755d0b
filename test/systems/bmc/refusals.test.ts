import assert from "node:assert/strict";
import { chmodSync } from "node:fs";
import { test } from "node:test";
import type { PowerVerdict } from "../../../src/model/power.ts";
import { addDomain, HOST, machine, otherHost, told } from "./other-host.ts";

test("the key is used without asking anybody anything", async (t) => {
  const host = otherHost(t);
  addDomain(host, 1);
  const [reading] = await host.ask([machine(1)]);
  assert.equal(reading?.verdict, "ok");
  assert.ok(host.lines("argv").includes("BatchMode=yes"));
  host.set("key", "another");
  const [refused] = await host.ask([machine(1)]);
  assert.ok(refused !== undefined);
  assert.deepEqual(told(refused), ["wrong-password", null, `${HOST} rejects the key of stack`]);
  chmodSync(host.key, 0o644);
  const [open] = await host.ask([machine(1)]);
  assert.deepEqual(open && told(open), [
    "incomplete",
    null,
    "ssh rejects a key that other users can read: chmod 600 the file in virtual_power_host_key",
  ]);
});

test("an unknown host key is never accepted", async (t) => {
  const host = otherHost(t);
  host.set("known", "");
  const [reading] = await host.ask([machine(1)]);
  assert.ok(reading !== undefined);
  assert.deepEqual(told(reading), [
    "protocol-error",
    null,
    `ssh does not know the host key of ${HOST}: run ssh -p 22 stack@${HOST} once as this user, compare the fingerprint, and accept it`,
  ]);
  assert.deepEqual(host.lines("known"), []);
});

const CLOSES = /closes the connection/;
const SAYS: readonly (readonly [string, PowerVerdict, RegExp])[] = [
  ["ssh: connect to host h port 22: Connection refused", "unreachable", /refuses connections/],
  ["ssh: connect to host h port 22: Connection timed out", "unreachable", /does not answer/],
  ["ssh: connect to host h port 22: No route to host", "unreachable", /no route to/],
  ["ssh: Could not resolve hostname h: Name or service not known", "unreachable", /not known/],
  ["Connection closed by 10.0.0.9 port 22", "unreachable", CLOSES],
  ["kex_exchange_identification: read: Connection reset by peer", "unreachable", CLOSES],
  [
    "@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\nHost key verification failed.",
    "protocol-error",
    /host key that differs.*ssh-keygen -R "vmhost\.example"/,
  ],
  [
    "Unable to negotiate with 10.0.0.9 port 22: no matching host key type found. Their offer: ssh-rsa",
    "protocol-error",
    /ssh_config/,
  ],
  [
    'Load key "/k": incorrect passphrase supplied to decrypt private key\nu@h: Permission denied (publickey).',
    "incomplete",
    /passphrase/,
  ],
  [
    "sign_and_send_pubkey: no mutual signature supported\nu@h: Permission denied (publickey).",
    "incomplete",
    /PubkeyAcceptedAlgorithms/,
  ],
  ["something nobody foresaw: stack's password is hunter2", "protocol-error", /does not run our/],
];
for (const [words, verdict, detail] of SAYS)
  test(`${verdict}, in our own words, where ssh says: ${words.split("\n")[0]}`, async (t) => {
    const host = otherHost(t);
    host.set("says", words);
    const [reading] = await host.ask([machine(1)]);
    assert.equal(reading?.verdict, verdict);
    assert.match(reading?.detail ?? "", detail);
    assert.doesNotMatch(reading?.detail ?? "", /hunter2|\n/);
  });

test("without an ssh here nothing is said of any machine", async (t) => {
  const host = otherHost(t);
  await assert.rejects(host.ask([machine(1)], { ssh: "/nonexistent/ssh" }), { code: "N2I-E400" });
});
