import { stat } from "node:fs/promises";
import { MigrationError } from "../../lib/error.ts";
import { type OsloConfig, readOsloFiles } from "../../lib/files/oslo.ts";
import { hostSpec } from "../../lib/text.ts";
import type { HostConfig } from "../../model/machine.ts";
import type { Seal } from "../../model/secret.ts";
import { valuesBy } from "./read.ts";

const SECTION = "baremetal";

/** Set by every distribution. nova's own default is its code's folder. */
const DEFAULTS = { state_path: "/var/lib/nova" };

/**
 * The [baremetal] settings of each compute host, in the order of the specs. Class names stay as
 * written, because nova imported them unchanged.
 *
 * @param specs `[HOST=]FILE`; later files of a host override earlier ones; files without a host are
 *   for all others ("*")
 * @throws MigrationError N2I-E104 with file and line
 * @source facts/nova-bm.md 3.1, 3.4
 */
export async function readHostConfigs(
  specs: readonly string[],
  seal: Seal,
): Promise<readonly HostConfig[]> {
  const hosts: HostConfig[] = [];
  for (const [host, paths] of filesByHost(specs))
    hosts.push(hostConfig({ host, paths }, await readOsloFiles(paths, DEFAULTS), seal));
  return hosts;
}

export function filesByHost(specs: readonly string[]): ReadonlyMap<string, readonly string[]> {
  return valuesBy(specs.map(hostSpec), "host", "path");
}

/** Whether users other than the owner may read the file. False for a missing file. */
export async function readableByAnyone(path: string): Promise<boolean> {
  return await stat(path).then(
    ({ mode }) => (mode & 0o044) !== 0,
    () => false,
  );
}

interface HostFiles {
  readonly host: string;
  readonly paths: readonly string[];
}

const IPMI = "nova.virt.baremetal.ipmi.IPMI";
/** Nova accepts the name with and without `nova.virt.`. */
const COMPUTE_DRIVER = /^(nova\.virt\.)?baremetal\.(driver\.)?BareMetalDriver$/;

/**
 * Nova's default applies only with files of a nova-baremetal host. With a controller's files every
 * machine would seem to have a BMC.
 */
function powerManager({ paths }: HostFiles, config: OsloConfig) {
  const manager = (power_manager_fault: string | null, power_manager: string | null = null) => {
    return { power_manager, power_manager_fault };
  };
  const files = paths.join(", ");
  const keys = config.keys(SECTION);
  if (keys === null) return manager(`${files} has no [${SECTION}]`);
  const configured = config.get(SECTION, "power_manager");
  if (configured?.trim() === "")
    return manager(`power_manager is empty at ${config.where(SECTION, "power_manager")}`);
  if (configured !== null) return manager(null, configured);
  const missingText = `${files} has no power_manager in [${SECTION}]`;
  const elsewhere = config.where("DEFAULT", "power_manager");
  if (elsewhere !== null)
    return manager(`${missingText}, but one is outside of it at ${elsewhere}`);
  const other = keys.find((key) => /^(virtual_power|tile)_/.test(key));
  if (other !== undefined) return manager(`${missingText}, but ${other}`);
  // Without compute_driver the files are incomplete, and a missing file may set power_manager.
  return COMPUTE_DRIVER.test(config.get("DEFAULT", "compute_driver")?.trim() ?? "")
    ? manager(`${missingText}, so Nova's default, ${IPMI}, is used`, IPMI)
    : manager(`${missingText}, and compute_driver is not that of nova-baremetal`);
}

function hostConfig(files: HostFiles, config: OsloConfig, seal: Seal): HostConfig {
  const { host } = files;
  const get = (key: string): string | null => config.get(SECTION, key) || null;
  const { cpu_arch = "", ...extra_specs } = extraSpecs(config);
  const pass = get("virtual_power_host_pass");
  return {
    host,
    ...powerManager(files, config),
    own_host: config.get("DEFAULT", "host") || null,
    driver: config.get(SECTION, "driver")?.trim() ?? "nova.virt.baremetal.pxe.PXE",
    cpu_arch: cpu_arch || null,
    extra_specs,
    tftp_root: get("tftp_root") ?? "/tftpboot",
    my_ip: config.get("DEFAULT", "my_ip") || null,
    pxe_bootfile_name: get("pxe_bootfile_name") ?? "pxelinux.0",
    deploy_kernel: get("deploy_kernel"),
    deploy_ramdisk: get("deploy_ramdisk"),
    virtual_power_ssh_host: get("virtual_power_ssh_host"),
    virtual_power_ssh_port: port(config, "virtual_power_ssh_port", 22),
    virtual_power_type: get("virtual_power_type") ?? "virsh",
    virtual_power_host_user: get("virtual_power_host_user"),
    virtual_power_host_pass: pass === null ? null : seal.seal(pass, `host:${host}`),
    virtual_power_host_key: get("virtual_power_host_key"),
  };
}

/** The older name applies only if the newer one is not set, as in oslo.config. */
function extraSpecs(config: OsloConfig): { readonly [key: string]: string } {
  const key = ["flavor_extra_specs", "instance_type_extra_specs"].find(
    (name) => config.where(SECTION, name) !== null,
  );
  if (key === undefined) return {};
  const pairs = (config.get(SECTION, key) ?? "").split(",").filter((pair) => pair.trim() !== "");
  return Object.fromEntries(
    pairs.map((pair): [string, string] => {
      const at = pair.indexOf(":");
      if (at < 0)
        throw new MigrationError(
          "N2I-E104",
          `${config.where(SECTION, key)}: ${key} has an entry without a colon: write key:value, key:value`,
        );
      return [pair.slice(0, at).trim(), pair.slice(at + 1).trim()];
    }),
  );
}

function port(config: OsloConfig, key: string, fallback: number): number {
  const text = config.get(SECTION, key)?.trim() ?? "";
  if (text === "") return fallback;
  const value = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (value < 1 || value > 65_535)
    throw new MigrationError(
      "N2I-E104",
      `${config.where(SECTION, key)}: ${key} is not a port number`,
    );
  return value;
}
