import { stat } from "node:fs/promises";
import { MigrationError } from "../../model/error.ts";
import { groupedBy } from "../../model/grouped.ts";
import type { HostConfig } from "../../model/machine.ts";
import type { Seal } from "../../model/secret.ts";
import { hostSpec } from "../../model/text.ts";
import { type OsloConfig, readOsloFiles } from "./oslo.ts";

const SECTION = "baremetal";

/** nova's own default is where its code lies; every distribution sets this one. */
const DEFAULTS = { state_path: "/var/lib/nova" };

/**
 * The [baremetal] settings of each compute host, hosts in the order they are named first.
 *
 * Class names are taken as written: nova imported them without completing them.
 *
 * @param specs `[HOST=]FILE`; several files of one host override one another in order, and a file
 *   without a host is for every host that has none of its own ("*")
 * @throws MigrationError N2I-E100 for a malformed spec, N2I-E104 naming file and line
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

/**
 * The files of each host, in the order given; "*" is every host without files of its own.
 *
 * @throws MigrationError N2I-E100 for a malformed spec
 */
export function filesByHost(specs: readonly string[]): ReadonlyMap<string, readonly string[]> {
  return groupedBy(
    specs.map(split),
    ({ host }) => host,
    ({ path }) => path,
  );
}

/**
 * Whether others than the owner may read the file: a warning when it holds a secret. False
 * when there is no such file.
 */
export async function worldReadable(path: string): Promise<boolean> {
  return await stat(path).then(
    ({ mode }) => (mode & 0o044) !== 0,
    () => false,
  );
}

function split(spec: string): { readonly host: string; readonly path: string } {
  const { host, path } = hostSpec(spec);
  if (host === "" || path === "")
    throw new MigrationError("N2I-E100", "--nova-conf wants FILE or HOST=FILE", {
      fix: "Name the file, and before an = the host it is of: compute1=/etc/nova/nova.conf",
    });
  return { host, path };
}

interface HostFiles {
  readonly host: string;
  readonly paths: readonly string[];
}

/**
 * Why the power manager of a host is not known. nova's default, IPMI, applies only if the file has [baremetal]: a
 * controller's nova.conf has none, and would turn every machine into one with a BMC.
 */
function powerManagerFault({ paths }: HostFiles, config: OsloConfig): string | null {
  if (!config.has(SECTION)) return `${paths.join(", ")} has no [${SECTION}]`;
  const place = config.where(SECTION, "power_manager");
  const empty = place !== null && config.get(SECTION, "power_manager")?.trim() === "";
  return empty ? `power_manager is empty at ${place}` : null;
}

function hostConfig(files: HostFiles, config: OsloConfig, seal: Seal): HostConfig {
  const { host } = files;
  const get = (key: string): string | null => config.get(SECTION, key) || null;
  const { cpu_arch = "", ...extra_specs } = extraSpecs(config);
  const pass = get("virtual_power_host_pass");
  const fault = powerManagerFault(files, config);
  const manager = get("power_manager") ?? "nova.virt.baremetal.ipmi.IPMI";
  return {
    host,
    power_manager: fault === null ? manager : null,
    power_manager_fault: fault,
    own_host: config.get("DEFAULT", "host") || null,
    driver: get("driver") ?? "nova.virt.baremetal.pxe.PXE",
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

/** The older name counts only where the newer one is not set, as a deprecated name does in oslo. */
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
          `${config.where(SECTION, key)}: ${key} has an entry without a colon; it wants key:value, key:value`,
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
