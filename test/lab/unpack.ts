import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { locate } from "./binaries.ts";

/** Packages that `npm run test:setup` unpacked as root: they outlive a build, and users that servers run as read them. */
const CACHE = "/var/cache/nova2ironic-test";

export interface Unpacked {
  readonly path: string;
  /** Where its libraries are; empty when the system has them. */
  readonly libraries: string;
}

/** A program of the system, or of a Debian package that the setup unpacked; null when there is neither. */
export function unpackedProgram(name: string, pack: string): Unpacked | null {
  const installed = locate(name);
  if (installed !== null) return { path: installed, libraries: "" };
  const root = join(CACHE, pack);
  const path = ["usr/bin", "usr/sbin"]
    .map((bin) => join(root, bin, name))
    .find((file) => existsSync(file));
  if (path === undefined) return null;
  const libraries = ["lib", "usr/lib"]
    .map((lib) => join(root, lib))
    .filter((lib) => existsSync(lib))
    .flatMap((lib) => readdirSync(lib).map((triplet) => join(lib, triplet)));
  return { path, libraries: libraries.join(":") };
}

/** Unpacks a package, with the packages that it needs and the system lacks, into the cache. */
export function unpack(pack: string): boolean {
  const root = join(CACHE, pack);
  mkdirSync(root, { recursive: true });
  const plan = apt(["install", "--simulate", "--no-install-recommends", pack], root);
  const names = [...(plan ?? "").matchAll(/^Inst (\S+)/gm)].map(([, name = ""]) => name);
  if (names.length === 0 || apt(["download", ...names], root) === null) return false;
  return readdirSync(root)
    .filter((file) => file.endsWith(".deb"))
    .every((file) => spawnSync("dpkg-deb", ["-x", join(root, file), root]).status === 0);
}

function apt(args: readonly string[], cwd: string): string | null {
  const lock = ["-o", "DPkg::Lock::Timeout=900", "-o", "APT::Sandbox::User=root"];
  const { status, stdout } = spawnSync("apt-get", ["-q", ...lock, ...args], {
    cwd,
    env: { ...process.env, LC_ALL: "C", DEBIAN_FRONTEND: "noninteractive" },
    stdio: ["ignore", "pipe", "ignore"],
    encoding: "utf8",
  });
  return status === 0 ? stdout : null;
}
