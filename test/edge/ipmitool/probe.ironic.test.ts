import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import {
  IPMITOOL_DEFAULTS,
  type IpmitoolOptions,
  ipmitoolArguments,
  ipmitoolProbe,
  mayPass,
  readRun,
} from "../../../src/edge/ipmitool/probe.ts";
import { MigrationError } from "../../../src/model/error.ts";
import type { PowerQuestion } from "../../../src/model/power.ts";
import { HEALTHY, type Nature } from "../ipmi/sim-nature.ts";
import { udpBmc } from "../ipmi/udp-bmc.ts";

const LIMITS = { deadline: 30_000, signal: new AbortController().signal };
const QUESTION: PowerQuestion = {
  bm_node_ids: [4],
  address: "10.0.0.9",
  user: "ADMIN",
  password: () => "thr0w-away",
};

test("the arguments are the conductor's, for current releases and for Juno", () => {
  assert.equal(
    ipmitoolArguments(QUESTION, "/tmp/FILE", IPMITOOL_DEFAULTS).join(" "),
    "-I lanplus -H 10.0.0.9 -L ADMINISTRATOR -U ADMIN -R 1 -N 5 -f /tmp/FILE power status",
  );
  const full = { ...QUESTION, port: 6230, kg: () => Buffer.from("secret") };
  const options = { ...IPMITOOL_DEFAULTS, suite: 3, level: "OPERATOR" } as const;
  assert.equal(
    ipmitoolArguments(full, "/tmp/FILE", options).join(" "),
    "-I lanplus -H 10.0.0.9 -L OPERATOR -p 6230 -U ADMIN -K -C 3 -R 1 -N 5 -f /tmp/FILE power status",
  );
  assert.equal(
    ipmitoolArguments(full, "/tmp/FILE", { ...options, release: "juno" }).join(" "),
    "-I lanplus -H 10.0.0.9 -L OPERATOR -U ADMIN -R 12 -N 5 -f /tmp/FILE power status",
  );
});

test("the password is in a private file that is gone afterwards, and nowhere else", async (t) => {
  const { options, said } = program(
    t,
    `file=$(echo "$*" | sed 's/.*-f \\([^ ]*\\) .*/\\1/')
     { stat -c %a "$file" "$(dirname "$file")"; cat "$file"; echo; echo "$file"; echo "$*"; env; } > "$0.said"
     echo "Chassis Power is on"`,
  );
  const reading = await ipmitoolProbe(options)(QUESTION, LIMITS);
  assert.deepEqual([reading.verdict, reading.power, reading.client], ["ok", "on", "ipmitool"]);
  const [mode, folderMode, password, file = "", ...rest] = said().split("\n");
  assert.deepEqual([mode, folderMode, password], ["600", "700", "thr0w-away"]);
  assert.ok(!existsSync(file) && !existsSync(join(file, "..")));
  assert.ok(!rest.join("\n").includes("thr0w-away"));
  assert.ok(!JSON.stringify(reading).includes("thr0w-away"));
});

test("an empty password is a NUL byte in the file", async (t) => {
  const { options, said } = program(
    t,
    `file=$(echo "$*" | sed 's/.*-f \\([^ ]*\\) .*/\\1/'); od -An -tx1 "$file" > "$0.said"; echo "Chassis Power is off"`,
  );
  const reading = await ipmitoolProbe(options)({ ...QUESTION, password: () => "" }, LIMITS);
  assert.equal(reading.power, "off");
  assert.equal(said().trim(), "00");
});

/** What ipmitool prints, and the verdict. */
const SAYS: readonly (readonly [string, string])[] = [
  ['echo "chassis power is on"', "protocol-error"],
  ['printf "Chassis Power is on"', "protocol-error"],
  ['echo "Chassis Power is on"; echo more', "protocol-error"],
  ['echo "Error: Unable to establish IPMI v2 / RMCP+ session" >&2; exit 1', "no-session"],
  ['echo "Error in open session response message : invalid role" >&2; exit 1', "privilege-refused"],
  [
    'echo "Error in open session response message : no matching cipher suite" >&2; exit 1',
    "cipher-refused",
  ],
  [
    'echo "Error in open session response message : invalid authentication algorithm" >&2; exit 1',
    "cipher-refused",
  ],
  ['echo "> RAKP 2 message indicates an error : unauthorized name" >&2; exit 1', "wrong-user"],
  ['echo "> RAKP 2 HMAC is invalid" >&2; exit 1', "wrong-password"],
  ['echo "Username is too long (> 16 bytes)" >&2; exit 1', "wrong-user"],
  ['echo "Address lookup for x failed" >&2; exit 1', "unreachable"],
  ['echo "Get Chassis Power Status failed: Invalid command" >&2; exit 1', "protocol-error"],
  ["exit 7", "protocol-error"],
];

for (const [script, verdict] of SAYS) {
  test(`ipmitool that does this is ${verdict}: ${script}`, async (t) => {
    const reading = await ipmitoolProbe(program(t, script).options)(QUESTION, LIMITS);
    assert.equal(reading.verdict, verdict, reading.detail);
    assert.equal(reading.power, null);
  });
}

test("a busy BMC is asked again five seconds later, within the time", async (t) => {
  const { options } = program(
    t,
    `if [ -e "$0.said" ]; then echo "Chassis Power is on"; else touch "$0.said"
     echo "Get Chassis Power Status failed: Node busy" >&2; exit 1; fi`,
  );
  const short = await ipmitoolProbe(options)(QUESTION, { ...LIMITS, deadline: 3000 });
  assert.deepEqual([short.verdict, short.attempts], ["busy", 1]);
  rmSync(`${options.program}.said`);
  const reading = await ipmitoolProbe(options)(QUESTION, LIMITS);
  assert.deepEqual([reading.verdict, reading.attempts], ["ok", 2]);
  assert.ok(reading.elapsed >= 5000);
});

test("it is killed at the deadline and when it is stopped, and its file is gone", async (t) => {
  const { options } = program(t, "exec sleep 60");
  const left = (): number =>
    readdirSync(tmpdir()).filter((name) => name.startsWith(`n2i-ipmi-${process.pid}-`)).length;
  const before = left();
  const late = await ipmitoolProbe(options)(QUESTION, { ...LIMITS, deadline: 300 });
  assert.equal(late.verdict, "deadline");
  const signal = AbortSignal.timeout(300);
  await assert.rejects(ipmitoolProbe(options)(QUESTION, { ...LIMITS, signal }), {
    name: "TimeoutError",
  });
  assert.ok(left() <= before);
});

test("silence in the middle of a login refuses nothing, and is asked again", () => {
  for (const message of [1, 3]) {
    const stderr = `> Error: no response from RAKP ${message} message\nError: Unable to establish IPMI v2 / RMCP+ session\n`;
    const result = readRun({ status: 1, stdout: "", stderr, took: 6000 });
    assert.ok("verdict" in result && result.verdict === "silent" && mayPass(result));
  }
});

test("where there is no ipmitool, that is said, and no machine is blamed", async () => {
  const probe = ipmitoolProbe({ ...IPMITOOL_DEFAULTS, program: "/nowhere/ipmitool" });
  await assert.rejects(
    probe(QUESTION, LIMITS),
    (error) =>
      error instanceof MigrationError &&
      error.code === "N2I-E400" &&
      !error.message.includes("thr0w"),
  );
});

/** What the real program must agree with us about. */
const REAL: readonly (readonly [Partial<Nature>, number | null, string])[] = [
  [{ power: "on" }, 17, "ok"],
  [{ power: "off" }, 3, "ok"],
  [{ power: "on" }, null, "ok"],
  [{ suites: [3], suiteStatus: 4, short: true }, 17, "cipher-refused"],
  [{ openStatus: 1 }, 3, "no-slots"],
  [{ password: "another" }, 3, "no-session"],
];

for (const [nature, suite, verdict] of REAL) {
  const title = `the real ipmitool: ${JSON.stringify(nature)}, suite ${suite}, is ${verdict}`;
  test(title, async (t) => {
    const { question } = await udpBmc(t, nature);
    const probe = ipmitoolProbe({ ...IPMITOOL_DEFAULTS, suite });
    const asked = { ...question, password: () => HEALTHY.password };
    const reading = await probe(asked, { ...LIMITS, deadline: 4000 });
    assert.equal(reading.verdict, verdict, reading.detail);
    if (verdict === "ok") assert.equal(reading.power, nature.power);
  });
}

/** A program in the place of ipmitool. */
function program(
  t: TestContext,
  script: string,
): { readonly options: IpmitoolOptions; readonly said: () => string } {
  const folder = mkdtempSync(join(tmpdir(), "n2i-program-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "ipmitool");
  writeFileSync(path, `#!/bin/sh\n${script}\n`, { mode: 0o700 });
  return {
    options: { ...IPMITOOL_DEFAULTS, program: path },
    said: () => readFileSync(`${path}.said`, "utf8"),
  };
}
