import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { createReadStream, existsSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { binaries } from "../binaries.ts";
import { owner, privateFolder } from "../folder.ts";
import { versionsOf } from "../python.ts";

/** What has a schema among a cloud's services, and how Python names it. */
const PACKAGES = {
  keystone: "keystone",
  glance: "glance",
  placement: "openstack-placement",
  nova: "nova",
  ironic: "ironic",
} as const;

function versions(): readonly (string | null)[] {
  return versionsOf(Object.values(PACKAGES));
}

/** Where a MariaDB's data with all schemas of the installed versions is kept. */
export function seedOf(kept: string): string {
  const { stdout } = spawnSync(binaries("mysql")?.server ?? "", ["--no-defaults", "--version"]);
  const [, server = ""] = /Ver (\S+)/.exec(String(stdout)) ?? [];
  return join(kept, ["data", server, ...versions()].join("-"));
}

/**
 * Makes a MariaDB's data folder of the schemas that `withSchema` kept, for every start to come.
 *
 * @returns false when it is there already
 */
export async function makeSeed(kept: string): Promise<boolean> {
  const found = binaries("mysql");
  const seed = seedOf(kept);
  if (found === null || existsSync(seed)) return false;
  const user = owner("mysql");
  const folder = privateFolder("n2i-seed-", user, "in memory");
  try {
    const data = ["--no-defaults", `--datadir=${join(folder, "data")}`];
    const run = async ([program = "", ...words]: readonly string[], input: readonly string[]) => {
      const child = spawn(program, words, {
        ...{ ...user, cwd: folder, env: { PATH: process.env.PATH, HOME: folder } },
        stdio: ["pipe", "ignore", "pipe"],
      });
      let said = "";
      child.stderr.setEncoding("utf8").on("data", (text: string) => {
        said += text;
      });
      child.stdin.on("error", () => {});
      for (const file of input)
        for await (const part of createReadStream(file)) child.stdin.write(part);
      child.stdin.end();
      const [status] = await once(child, "close");
      if (status !== 0) throw new Error(`${program} ended with ${status}\n${said.slice(-4000)}`);
    };
    await run([found.init, ...data, "--skip-test-db", "--skip-name-resolve"], []);
    const made = versions();
    const dumps = Object.keys(PACKAGES).map((service, at) => `${service}-${made[at]}.sql`);
    const whole = ["--bootstrap", "--innodb-fast-shutdown=0", "--skip-name-resolve"];
    await run(
      [found.server, ...data, ...whole],
      dumps.map((name) => join(kept, name)),
    );
    // As it is, owner included.
    const { status } = spawnSync("cp", ["-a", join(folder, "data"), `${seed}.${process.pid}`]);
    if (status !== 0) throw new Error(`cp ended with ${status}`);
    renameSync(`${seed}.${process.pid}`, seed);
    return true;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
