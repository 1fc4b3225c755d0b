import { spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { privateFile, privateFolder } from "../folder.ts";

/** What a client is told about a BMC. The secrets travel in the environment or a file of mode 0600. */
export interface Login {
  readonly user?: string;
  readonly password?: string;
  /** Plain text. */
  readonly kg?: string | undefined;
  /** Cipher suite; the client's own choice when absent. */
  readonly suite?: number;
  readonly level?: "USER" | "OPERATOR" | "ADMINISTRATOR";
  /** ipmitool alone: IPMI 1.5 with this authentication type. */
  readonly legacy?: "NONE" | "MD5" | "PASSWORD";
}

export interface Ran {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

const USER = "admin";
const PASSWORD = "s3cret-Passw0rd";

/** @param program path of ipmitool; each question is sent twice, a second apart */
export function ipmitool(
  program: string,
  address: string,
  login: Login,
  ...command: readonly string[]
): Promise<Ran> {
  const { user = USER, password = PASSWORD, kg, suite, level = "ADMINISTRATOR", legacy } = login;
  const args = [
    ...(legacy === undefined ? ["-I", "lanplus"] : ["-I", "lan", "-A", legacy]),
    ...["-H", address, "-U", user, "-L", level, "-R", "1", "-N", "1", "-E"],
    ...(suite === undefined ? [] : ["-C", String(suite)]),
    ...(kg === undefined ? [] : ["-K"]),
    ...command,
  ];
  return run(program, args, { IPMI_PASSWORD: password, IPMI_KGKEY: kg ?? "" });
}

/** @param program path of ipmipower; @param more as `--stat`, and one of its workarounds */
export async function ipmipower(
  program: string,
  addresses: readonly string[],
  login: Login,
  ...more: readonly string[]
): Promise<Ran> {
  const { user = USER, password = PASSWORD, kg, suite = 3 } = login;
  const folder = privateFolder("n2i-ipmipower-", {});
  const config = join(folder, "freeipmi.conf");
  const secrets = [`username ${user}`, `password ${password}`, kg === undefined ? "" : `k_g ${kg}`];
  privateFile(config, `${secrets.join("\n")}\n`, {});
  try {
    const words = [
      ...[`--config-file=${config}`, "-D", "LAN_2_0", "-I", String(suite)],
      ...["--session-timeout=5000", "--retransmission-timeout=1000"],
      ...["-h", addresses.join(","), ...more],
    ];
    // FreeIPMI 1.6.10 itself ends now and then amid BMCs with faults: `unassemble_ipmi_rmcpplus_pkt: Success`.
    let ran = await run(program, words);
    for (let left = 5; left > 0 && ran.stderr.startsWith("unassemble_ipmi_"); left -= 1)
      ran = await run(program, words);
    return ran;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function run(
  program: string,
  args: readonly string[],
  secrets: NodeJS.ProcessEnv = {},
): Promise<Ran> {
  const child = spawn(program, args, {
    stdio: ["ignore", "pipe", "pipe"],
    env: { PATH: process.env.PATH, HOME: "/nonexistent", LC_ALL: "C", ...secrets },
  });
  let [stdout, stderr] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const [status] = await once(child, "close");
  return { status: typeof status === "number" ? status : null, stdout, stderr };
}
