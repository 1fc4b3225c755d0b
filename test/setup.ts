import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { EQUIPPED, type Equipped, missingSoftware, missingUnpacked } from "./lab/packages.ts";
import { unpack } from "./lab/unpack.ts";

/** `npm run test:setup -- LANE ...`: installs what these lanes need, with apt-get on Debian as root. */
function main(words: readonly string[]): number {
  const lanes = words.includes("all") ? EQUIPPED : words.filter(isEquipped);
  if (words.length === 0 || lanes.length < words.length)
    return fail(`usage: npm run test:setup -- LANE ...\nLanes: ${EQUIPPED.join(" ")}, or all`);
  const missing = missingSoftware(lanes);
  const packages = [...new Set(missing.flatMap((one) => one.packages))];
  if (packages.length + missingUnpacked(lanes).length === 0)
    return tell("Everything is installed.");
  const command = `apt-get install --no-install-recommends ${packages.join(" ")}`;
  if (process.getuid?.() !== 0 || !existsSync("/etc/debian_version"))
    return fail(`Only root on Debian can install packages. Run: ${command}`);
  if (!aptGet(["update"])) return fail("apt-get update failed");
  if (packages.length > 0) {
    tell(command);
    if (!aptGet(["install", "-y", "--no-install-recommends", ...packages]))
      return fail(`${command} failed`);
  }
  // The packages installed above may have brought a program that was to be unpacked.
  for (const pack of missingUnpacked(lanes)) {
    tell(`unpacking ${pack}`);
    if (!unpack(pack)) return fail(`${pack} cannot be downloaded`);
  }
  const still = missingSoftware(lanes);
  return still.length === 0
    ? tell("Everything is installed.")
    : fail(
        `Still missing: ${still.map(({ title }) => title).join(", ")}. The tests need Debian 12.`,
      );
}

function isEquipped(word: string): word is Equipped {
  return (EQUIPPED as readonly string[]).includes(word);
}

function aptGet(args: readonly string[]): boolean {
  const { status } = spawnSync("apt-get", ["-qq", "-o", "DPkg::Lock::Timeout=900", ...args], {
    env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
    stdio: ["ignore", "ignore", "inherit"],
  });
  return status === 0;
}

function tell(line: string): number {
  process.stdout.write(`${line}\n`);
  return 0;
}

function fail(text: string): number {
  process.stderr.write(`${text}\n`);
  return 1;
}

process.exit(main(process.argv.slice(2)));
