import assert from "node:assert/strict";
import { chmodSync } from "node:fs";
import { test } from "node:test";
import { MigrationError } from "../../../src/model/error.ts";
import type { PowerVerdict } from "../../../src/model/power.ts";
import { addDomain, HOST, machine, otherHost, told } from "./other-host.ts";

test("a wrong password is refused after one attempt, whatever else the host offers", async (t) => {
  const host = otherHost(t);
  const [reading] = await host.ask([machine(1)], { password: "guess" });
  assert.ok(reading !== undefined);
  assert.deepEqual(told(reading), [
    "wrong-password",
    null,
    `${HOST} refuses the password of stack`,
  ]);
  assert.equal(host.lines("tries").length, 1);
});

test("a key is used when it can be read here, without asking anybody anything", async (t) => {
  const host = otherHost(t);
  addDomain(host, 1);
  const key = { virtual_power_host_key: host.key, password: null };
  const [reading] = await host.ask([machine(1)], key);
  assert.equal(reading?.verdict, "ok");
  assert.ok(host.lines("argv").includes("BatchMode=yes"));
  host.set("key", "another");
  const [refused] = await host.ask([machine(1)], key);
  assert.equal(refused?.detail, `${HOST} refuses the key of stack`);
  chmodSync(host.key, 0o644);
  const [open] = await host.ask([machine(1)], key);
  assert.deepEqual(open && told(open), [
    "incomplete",
    null,
    "ssh uses no key that others can read: chmod 600 the file virtual_power_host_key names",
  ]);
});

test("with a key and a password, as nova-baremetal had it, either one lets us in", async (t) => {
  const host = otherHost(t);
  addDomain(host, 1);
  const key = { virtual_power_host_key: host.key };
  assert.equal((await host.ask([machine(1)], { ...key, password: "guess" }))[0]?.verdict, "ok");
  host.set("key", "another");
  assert.equal((await host.ask([machine(1)], key))[0]?.verdict, "ok");
  const [neither] = await host.ask([machine(1)], { ...key, password: "guess" });
  assert.equal(neither?.detail, `${HOST} refuses the key and the password of stack`);
});

for (const way of ["key", "password"] as const)
  test(`an unknown host key is never accepted with a ${way}, not even the password "yes"`, async (t) => {
    const host = otherHost(t);
    host.set("known", "");
    // ssh's question names the host, and so looks like one for a password.
    const name = "password.example";
    const [reading] = await host.ask([machine(1)], {
      virtual_power_ssh_host: name,
      virtual_power_host_key: way === "key" ? host.key : null,
      password: way === "key" ? null : "yes",
    });
    assert.ok(reading !== undefined);
    assert.deepEqual(told(reading), [
      "protocol-error",
      null,
      `ssh does not know the host key of ${name}: run ssh -p 22 stack@${name} once as this user, compare the fingerprint, and accept it`,
    ]);
    assert.deepEqual(host.lines("known"), []);
    assert.deepEqual(host.lines("tries"), []);
  });

test("the password answers a question for it, and neither a code nor a new password", async (t) => {
  const answered: string[] = [];
  for (const prompt of [
    "Password for stack: ",
    "Verification code: ",
    "New password: ",
    "(current) UNIX password: ",
    "Current password: ",
    "One-time password: ",
  ]) {
    const host = otherHost(t);
    addDomain(host, 1);
    // The first method is what the host refuses without a question: only the second one is left.
    host.set("only", "keyboard-interactive");
    host.set("prompt", prompt);
    if ((await host.ask([machine(1)]))[0]?.verdict === "ok") answered.push(prompt);
  }
  assert.deepEqual(answered, ["Password for stack: "]);
});

const SAYS: readonly (readonly [string, PowerVerdict, RegExp])[] = [
  ["ssh: connect to host h port 22: Connection refused", "unreachable", /refuses connections/],
  ["ssh: connect to host h port 22: Connection timed out", "unreachable", /does not answer/],
  ["ssh: connect to host h port 22: No route to host", "unreachable", /no way/],
  ["ssh: Could not resolve hostname h: Name or service not known", "unreachable", /not known/],
  ["Connection closed by 10.0.0.9 port 22", "unreachable", /ends the connection/],
  ["kex_exchange_identification: read: Connection reset by peer", "unreachable", /ends/],
  [
    "@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\nHost key verification failed.",
    "protocol-error",
    /another host key.*ssh-keygen -R "vmhost\.example"/,
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
  [
    "ssh_askpass: exec(/tmp/x/askpass): Permission denied\nu@h: Permission denied (password).",
    "incomplete",
    /TMPDIR/,
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
  await assert.rejects(
    host.ask([machine(1)], { ssh: "/nonexistent/ssh" }),
    (error) => error instanceof MigrationError && error.code === "N2I-E400",
  );
});
