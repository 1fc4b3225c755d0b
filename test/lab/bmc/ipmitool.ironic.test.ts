import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { type TestContext, test } from "node:test";
import type { BmcOptions } from "../../support/bmc/index.ts";
import { tool } from "./tools.ts";
import { withBmc } from "./with-farm.ts";

const NO_SESSION = "Error: Unable to establish IPMI v2 / RMCP+ session\n";
const busy = (code: number) => ({ busy: { code, times: 1, command: "00/01" } });
const OFF = { status: 0, stdout: "Chassis Power is off\n", stderr: "" };

for (const suite of [0, 1, 2, 3, 15, 16, 17])
  test(`ipmitool reads the power state over cipher suite ${suite}`, async (t) => {
    const at = await start(t, { power: true, suites: [suite] });
    const ran = await at.ask({ suite }, "power", "status");
    assert.deepEqual(ran, { status: 0, stdout: "Chassis Power is on\n", stderr: "" });
    const { logins, closes } = at.bmc.counts();
    assert.deepEqual({ logins, closes }, { logins: 1, closes: 1 });
  });

test("ipmitool finds the suites it may choose from, and chooses 17", async (t) => {
  const at = await start(t, { openStatus: { 1: 1, 2: 1, 3: 1, 15: 1, 16: 1 } });
  assert.deepEqual(await at.ask({}, "power", "status"), OFF);
  const { stdout } = await at.ask({}, "channel", "getciphers", "ipmi");
  const lines = stdout.trimEnd().split("\n");
  assert.deepEqual(
    lines.slice(1).map((line) => line.trim().split(/\s+/).join(" ")),
    [
      "1 N/A hmac_sha1 none none",
      "2 N/A hmac_sha1 hmac_sha1_96 none",
      "3 N/A hmac_sha1 hmac_sha1_96 aes_cbc_128",
      "15 N/A hmac_sha256 none none",
      "16 N/A hmac_sha256 sha256_128 none",
      "17 N/A hmac_sha256 sha256_128 aes_cbc_128",
    ],
  );
});

test("ipmitool sees a wrong password at RAKP2, and answers nothing to it", async (t) => {
  for (const suite of [3, 17]) {
    const at = await start(t, {});
    const ran = await at.ask({ suite, password: "guess" }, "power", "status");
    assert.deepEqual(ran, { status: 1, stdout: "", stderr: NO_SESSION });
    const { rakp1, rakp3, badLogins } = at.bmc.counts();
    assert.deepEqual({ rakp1, rakp3, badLogins }, { rakp1: 1, rakp3: 0, badLogins: 0 });
  }
});

test("with a Kg ipmitool needs the same one, and knows better only at RAKP4", async (t) => {
  const at = await start(t, { kg: Buffer.from("key of the BMC").toString("hex") });
  for (const suite of [3, 17]) {
    assert.deepEqual(await at.ask({ suite, kg: "key of the BMC" }, "power", "status"), OFF);
    for (const login of [{ suite }, { suite, kg: "another key" }]) {
      const ran = await at.ask(login, "power", "status");
      assert.deepEqual(ran, { status: 1, stdout: "", stderr: NO_SESSION });
    }
  }
  assert.equal(at.bmc.counts().rakp3, 6);
});

test("a user of 16 bytes with a password of 20 is let in, and the null user too", async (t) => {
  const user = "sixteen-bytes-ok";
  const users = [
    { name: user, password: "twenty-bytes-of-pass" },
    { name: "", password: "null's" },
  ];
  const at = await start(t, { users });
  const long = { user, password: "twenty-bytes-of-pass", suite: 17 };
  assert.deepEqual(await at.ask(long, "power", "status"), OFF);
  const nullUser = { user: "", password: "null's", suite: 3 };
  assert.deepEqual(await at.ask(nullUser, "power", "status"), OFF);
});

test("ipmitool switches the machine, and every such command is in the log", async (t) => {
  const at = await start(t, {});
  for (const command of ["on", "cycle", "reset", "diag", "soft", "on", "off"])
    assert.equal((await at.ask({ suite: 3 }, "power", command)).status, 0, command);
  assert.equal(at.bmc.power(at.bmc.address), false);
  const refused = await at.ask({ suite: 3 }, "power", "cycle");
  assert.match(refused.stderr, /Command not supported in present state/);
  assert.deepEqual(
    at.bmc.commands().map(({ command, user }) => `${user} ${command}`),
    ["on", "cycle", "reset", "nmi", "soft", "on", "off", "cycle"].map((name) => `admin ${name}`),
  );
});

test("an operator is refused ADMINISTRATOR, gets OPERATOR, and as USER may not switch", async (t) => {
  const users = [{ name: "admin", password: "s3cret-Passw0rd", limit: 3 }] as const;
  const at = await start(t, { users });
  const refused = await at.ask({ suite: 3 }, "power", "status");
  assert.match(refused.stderr, /Set Session Privilege Level to ADMINISTRATOR failed: .*0x81/);
  assert.deepEqual(await at.ask({ suite: 3, level: "OPERATOR" }, "power", "status"), OFF);
  const forbidden = await at.ask({ suite: 3, level: "USER" }, "power", "on");
  assert.match(forbidden.stderr, /Insufficient privilege level/);
  assert.deepEqual(at.bmc.commands(), []);
});

test("ipmitool says each fault in its own words", async (t) => {
  const users = [{ name: "admin", password: "s3cret-Passw0rd", limit: 3 }] as const;
  const refused = /open session response message : invalid authentication algorithm/;
  const faults: readonly [Partial<BmcOptions>, RegExp][] = [
    [busy(0xc0), /Get Chassis Power Status failed: Node busy/],
    [busy(0xc3), /Get Chassis Power Status failed: Timeout/],
    [{ openStatus: { 3: 0x04 } }, refused],
    [{ openStatus: { "*": 0x12 }, errorLength: 2 }, /open session response message/],
    [{ suites: [17] }, /open session response message : no matching cipher suite/],
    [{ sessionLimit: 0 }, /insufficient resources for session/],
    [{ users: [] }, /^Error: Unable to establish/],
    [{ users, roleStatus: 9 }, /^Error: Unable to establish/],
    [{ users, roleStatus: 10, errorLength: null }, /^Error: Unable to establish/],
    [{ openPrivilege: true }, /^Error: Unable to establish/],
    [{ unknownUser: "silent", users: [] }, /no response from RAKP 1 message/],
    [{ dead: true }, /^Error: Unable to establish/],
    [{ closed: true }, /^Error: Unable to establish/],
  ];
  for (const [fault, words] of faults) {
    const at = await start(t, fault);
    const ran = await at.ask({ suite: 3 }, "power", "status");
    assert.equal(ran.status, 1, JSON.stringify(fault));
    assert.match(ran.stderr, words, JSON.stringify(fault));
  }
});

test("a BMC whose keys follow Open Session lets ipmitool in as OPERATOR only: what we advise", async (t) => {
  const at = await start(t, { openPrivilege: true });
  assert.equal((await at.ask({ suite: 3 }, "power", "status")).status, 1);
  assert.deepEqual(await at.ask({ suite: 3, level: "OPERATOR" }, "power", "status"), OFF);
});

test("ipmitool lives with wrong checksums, doubled and late answers, and a busy BMC that recovers", async (t) => {
  const odd = [{ wrongChecksums: true }, { duplicate: 1 }, { delayMs: 30 }, { reorder: 1 }];
  for (const fault of odd) {
    const at = await start(t, fault);
    const { stdout } = await at.ask({ suite: 3 }, "power", "status");
    assert.equal(stdout, OFF.stdout, JSON.stringify(fault));
  }
  const at = await start(t, busy(0xc0));
  assert.equal((await at.ask({ suite: 3 }, "power", "status")).status, 1);
  assert.deepEqual(await at.ask({ suite: 3 }, "power", "status"), OFF);
});

async function start(t: TestContext, options: Partial<BmcOptions>) {
  const program = tool("ipmitool");
  const bmc = await withBmc(t, options, "port 623");
  const ask = (login: Login, ...command: readonly string[]) =>
    ipmitool(program, bmc.address, login, ...command);
  return { bmc, ask };
}

/** The login for a BMC. The secrets travel in the environment. */
interface Login {
  readonly user?: string;
  readonly password?: string;
  readonly kg?: string;
  /** Cipher suite; the client's own choice when absent. */
  readonly suite?: number;
  readonly level?: "USER" | "OPERATOR" | "ADMINISTRATOR";
}

const PASSWORD = "s3cret-Passw0rd";

/** @param program path of ipmitool; each question is sent twice, a second apart */
function ipmitool(program: string, address: string, login: Login, ...command: readonly string[]) {
  const { user = "admin", password = PASSWORD, kg, suite, level = "ADMINISTRATOR" } = login;
  const args = [
    ...["-I", "lanplus", "-H", address, "-U", user, "-L", level, "-R", "1", "-N", "1", "-E"],
    ...(suite === undefined ? [] : ["-C", String(suite)]),
    ...(kg === undefined ? [] : ["-K"]),
    ...command,
  ];
  const secrets = { IPMI_PASSWORD: password, IPMI_KGKEY: kg ?? "" };
  const env = { PATH: process.env.PATH, HOME: "/nonexistent", LC_ALL: "C", ...secrets };
  return new Promise<{ status: number; stdout: string; stderr: string }>((resolve) => {
    execFile(program, args, { env }, (error, stdout, stderr) =>
      resolve({ status: error === null ? 0 : Number(error.code), stdout, stderr }),
    );
  });
}
