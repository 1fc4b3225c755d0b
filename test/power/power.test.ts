import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import type { Case } from "../../src/demo/case.ts";
import { type WrittenCase, writeCase } from "../../src/demo/write-case.ts";
import type { PowerReading } from "../../src/model/power.ts";
import type { BmcOptions } from "../lab/bmc/options.ts";
import { withBmcs } from "../lab/bmc/with-farm.ts";

const MAIN = fileURLToPath(new URL("../../src/cli/main.js", import.meta.url));

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** The farm answers from this process, so the command runs beside it, not in its way. */
function run(
  cwd: string,
  words: readonly string[],
  onError?: (text: string) => void,
): Promise<Ran> & { stop: () => void } {
  const child = spawn(process.execPath, [MAIN, ...words], {
    cwd,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let [out, err] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    out += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    err += text;
    onError?.(err);
  });
  const ended = new Promise<Ran>((resolve) => {
    child.on("close", (code) => resolve({ code: code ?? -1, out, err }));
  });
  return Object.assign(ended, { stop: () => void child.kill("SIGINT") });
}

const user = (id: number) => [{ name: "admin", password: `bmc-secret-${id}` }];

/** A deployment whose machines have these BMCs, extracted into `run`. */
async function deployed(
  t: TestContext,
  bmcs: readonly Partial<BmcOptions>[],
  more: Partial<Case> = {},
): Promise<{
  readonly folder: string;
  readonly written: WrittenCase;
  readonly addresses: readonly string[];
  readonly farm: NonNullable<Awaited<ReturnType<typeof withBmcs>>>;
} | null> {
  const farm = await withBmcs(t, bmcs);
  if (farm === null) return null;
  const folder = mkdtempSync(join(tmpdir(), "n2i-power-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const nodes = farm.addresses.map((pm_address, at) => ({ id: at + 1, pm_address }));
  const written = await writeCase(
    { shows: "power", nova_bm: { nodes }, power: true, ...more },
    folder,
  );
  const { code, err } = await run(folder, ["extract", "--run", "run", ...written.extract]);
  assert.equal(code, 0, err);
  return { folder, written, addresses: farm.addresses, farm };
}

function readings(folder: string): readonly PowerReading[] {
  const lines = readFileSync(join(folder, "run", "power.jsonl"), "utf8")
    .trim()
    .split("\n");
  return lines.slice(1, -1).map((line) => JSON.parse(line) as PowerReading);
}

test("every BMC gets its verdict, and the plan blocks each machine that is not sure", async (t) => {
  const all: readonly Partial<BmcOptions>[] = [
    { users: user(1), power: true },
    { users: user(2), power: false, suites: [17] },
    { users: [{ name: "admin", password: "another" }] },
    { users: [{ name: "root", password: "bmc-secret-4" }] },
    { users: user(5), dead: true },
    { users: [{ name: "admin", password: "bmc-secret-6", limit: 3 }] },
    { users: user(7), kg: "00112233" },
  ];
  const at = await deployed(t, all);
  if (at === null) return;
  const asked = await run(at.folder, ["power", "--run", "run", "--deadline", "12", "-f", "json"]);
  assert.equal(asked.code, 3, asked.err);
  assert.deepEqual(
    readings(at.folder).map(({ bm_node_ids, verdict, power }) => [bm_node_ids[0], verdict, power]),
    [
      [1, "ok", "on"],
      [2, "ok", "off"],
      [3, "wrong-password", null],
      [4, "wrong-user", null],
      [5, "unreachable", null],
      [6, "ok", readings(at.folder)[5]?.power],
      [7, "wrong-kg", null],
    ],
  );
  const plan = await run(at.folder, ["plan", "--run", "run", ...at.written.ironic, "-q"]);
  assert.equal(plan.code, 0, plan.err);
  for (const [id, code] of [
    [3, "N2I-D601"],
    [4, "N2I-D601"],
    [5, "N2I-D600"],
    [7, "N2I-D601"],
  ] as const)
    assert.match(plan.out, new RegExp(`${String(id).padStart(12, "0")} +blocked +${code}`));
  assert.match(plan.out, /000000000001 +create/);
  const allowed = await run(at.folder, [
    "plan",
    "--run",
    "run",
    ...at.written.ironic,
    "--max-unreachable",
    "1",
    "-q",
  ]);
  assert.match(allowed.out, /000000000005 +create/);
});

test("without readings a plan blocks every machine", async (t) => {
  const at = await deployed(t, [{ users: user(1) }]);
  if (at === null) return;
  const plan = await run(at.folder, ["plan", "--run", "run", ...at.written.ironic, "-q"]);
  assert.match(plan.out, /blocked +N2I-D604/);
});

test("power is recorded only when that is asked for, and then as measured", async (t) => {
  const at = await deployed(t, [
    { users: user(1), power: true },
    { users: user(2), power: false },
  ]);
  if (at === null) return;
  assert.equal((await run(at.folder, ["power", "--run", "run"])).code, 0);
  const plain = await run(at.folder, [
    "plan",
    "--run",
    "run",
    ...at.written.ironic,
    "-q",
    "--diff",
  ]);
  assert.equal(plain.out.match(/power_state = null +<- constant/g)?.length, 2 * 2);
  const recorded = await run(at.folder, [
    "plan",
    "--run",
    "run",
    ...at.written.ironic,
    "-q",
    "--diff",
    "--record-power",
  ]);
  assert.match(recorded.out, /power_state = "power on" +<- measured over IPMI/);
  assert.match(recorded.out, /power_state = "power off" +<- measured over IPMI/);
});

test("a stopped run goes on where it was and asks nobody twice", async (t) => {
  const bmcs = Array.from({ length: 40 }, (_, at) => ({ users: user(at + 1), delayMs: 50 }));
  const at = await deployed(t, bmcs);
  if (at === null) return;
  const words = ["power", "--run", "run", "--rate", "8", "--in-flight", "4"];
  const first = run(at.folder, words);
  setTimeout(first.stop, 2500);
  const stopped = await first;
  assert.equal(stopped.code, 130, stopped.err);
  const kept =
    readFileSync(join(at.folder, "run", "power.jsonl.partial"), "utf8")
      .trim()
      .split("\n").length - 1;
  assert.ok(kept > 0 && kept < 40, String(kept));
  const again = await run(at.folder, [...words.slice(0, 3), "--rate", "400"]);
  assert.equal(again.code, 0, again.err);
  assert.equal(readings(at.folder).length, 40);
});

test("two power runs on one folder: the second is refused", async (t) => {
  const at = await deployed(t, [{ users: user(1), dead: true }]);
  if (at === null) return;
  const first = run(at.folder, ["power", "--run", "run", "--deadline", "6"]);
  await new Promise((done) => setTimeout(done, 1500));
  const second = await run(at.folder, ["power", "--run", "run"]);
  assert.equal(second.code, 11, second.err);
  assert.match(second.err, /N2I-E302/);
  first.stop();
  await first;
});

test("apply refuses readings that are too old", async (t) => {
  const at = await deployed(t, [{ users: user(1) }]);
  if (at === null) return;
  assert.equal((await run(at.folder, ["power", "--run", "run"])).code, 0);
  assert.equal((await run(at.folder, ["plan", "--run", "run", ...at.written.ironic])).code, 0);
  const old = await run(at.folder, [
    "apply",
    "--run",
    "run",
    ...at.written.ironic,
    "--yes",
    "--power-max-age",
    "0",
  ]);
  assert.equal(old.code, 4, old.err);
  assert.match(old.err, /N2I-E307/);
  const fresh = await run(at.folder, ["apply", "--run", "run", ...at.written.ironic, "--yes"]);
  assert.equal(fresh.code, 0, fresh.err);
});

test("a machine switched after the power run is left out when it is asked once more", async (t) => {
  const at = await deployed(t, [
    { users: user(1), power: true },
    { users: user(2), power: true },
  ]);
  if (at === null) return;
  assert.equal((await run(at.folder, ["power", "--run", "run"])).code, 0);
  assert.equal((await run(at.folder, ["plan", "--run", "run", ...at.written.ironic])).code, 0);
  at.farm.setPower(at.addresses[1] ?? "", false);
  const applied = await run(at.folder, [
    "apply",
    "--run",
    "run",
    ...at.written.ironic,
    "--yes",
    "--recheck-power",
  ]);
  assert.match(applied.out, /Left out: a0000000-0000-4000-8000-000000000002 .*was on, is off/);
  assert.match(applied.out, /Apply: 2 rows created/);
});

test("virtual machines are asked through ssh, and a host that cannot be reached is no silent pass", async (t) => {
  const at = await deployed(t, [{ users: user(1) }], {
    nova_conf: {
      "*": {
        power_manager: "nova.virt.baremetal.virtual_power_driver.VirtualPowerManager",
        virtual_power_ssh_host: "127.0.0.1",
        virtual_power_ssh_port: "1",
        virtual_power_host_user: "stack",
        virtual_power_host_pass: "virt-secret",
      },
    },
  });
  if (at === null) return;
  const asked = await run(at.folder, ["power", "--run", "run", "--deadline", "10"]);
  assert.equal(asked.code, 3, asked.err);
  assert.notEqual(readings(at.folder)[0]?.verdict, "ok");
  assert.doesNotMatch(asked.out + asked.err, /virt-secret/);
  const plan = await run(at.folder, ["plan", "--run", "run", ...at.written.ironic, "-q"]);
  assert.match(plan.out, /blocked +N2I-D60/);
});
