import { spawn } from "node:child_process";
import { once } from "node:events";
import { createWriteStream, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ini, type Sections } from "../../test/lab/cloud/config.ts";
import type { Cloud } from "../../test/lab/cloud/start.ts";
import { PYTHON } from "../../test/lab/python.ts";
import { endWithUs } from "./ended.ts";

const PACKAGES = "/usr/lib/python3/dist-packages";

/** Ironic's own tests of its API, on hardware of the type fake-hardware. */
const BAREMETAL = "^ironic_tempest_plugin\\.tests\\.api";

/** Of tempest.api.compute.servers what needs no volume, network, console, resize, pause or shelving. */
const COMPUTE = [
  "test_availability_zone",
  "test_create_server.ServersTestJSON",
  "test_delete_server.DeleteServersTestJSON.test_delete_(active|server_while_in_shutoff)",
  "test_instance_actions.InstanceActionsTestJSON",
  "test_instance_actions_negative",
  "test_multiple_create_negative",
  "test_server_actions.ServerActionsTestJSON.test_(reboot|rebuild_server$|rebuild_server\\[|rebuild_server_in|stop_start|lock)",
  "test_server_password",
  "test_servers.ServersTestJSON.test_(update|create_with_ipv6|create_server_specify)",
  "test_servers_negative.ServersNegativeTestJSON",
].map((name) => `^tempest\\.api\\.compute\\.servers\\.${name}`);

/** What differs between the two sides. */
export interface Side {
  readonly name: string;
  /** Of the Ironic in Keystone's catalog. */
  readonly catalog: string;
  readonly flavor: string;
  readonly image: string;
}

export interface Outcome {
  readonly test: string;
  readonly status: string;
  readonly seconds: number;
}

/** Runs both sets of tests against one side; what was skipped is in the outcomes too. */
export async function runTempest(
  folder: string,
  cloud: Cloud,
  side: Side,
): Promise<readonly Outcome[]> {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const write = (name: string, text: string) =>
    writeFileSync(join(folder, name), text, { mode: 0o600 });
  write("tempest.conf", ini(settings(folder, cloud, side)));
  const stestr = { test_path: join(PACKAGES, "tempest", "test_discover"), top_dir: PACKAGES };
  write(".stestr.conf", `${ini({ DEFAULT: stestr })}\ngroup_regex=([^\\.]*\\.)*\n`);
  const run = (words: readonly string[]) => stestrIn(folder, words);
  await run(["init"]);
  // Its status is of the tests; what is missing from the outcomes is red.
  await run(["run", "--concurrency", "2", [BAREMETAL, ...COMPUTE].join("|")]);
  const subunit = await run(["last", "--subunit"]);
  return outcomes(await csv(subunit));
}

async function stestrIn(folder: string, words: readonly string[]): Promise<Buffer> {
  const env = { TEMPEST_CONFIG: "tempest.conf", TEMPEST_CONFIG_DIR: folder, HOME: folder };
  const child = spawn(PYTHON, ["-m", "stestr", ...words], {
    cwd: folder,
    env: { PATH: process.env.PATH, LC_ALL: "C.UTF-8", TZ: "UTC", ...env },
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = endWithUs(child);
  const log = createWriteStream(join(folder, `${words[0]}.log`), { mode: 0o600 });
  child.stderr.pipe(log);
  const chunks: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
  await once(child, "close");
  ended();
  const out = Buffer.concat(chunks);
  writeFileSync(join(folder, `${words[0]}.out`), out, { mode: 0o600 });
  return out;
}

async function csv(subunit: Buffer): Promise<string> {
  const child = spawn("subunit2csv", ["--no-passthrough"], { stdio: ["pipe", "pipe", "ignore"] });
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (more: string) => {
    text += more;
  });
  child.stdin.end(subunit);
  await once(child, "close");
  return text;
}

/** `test,status,start,stop` of each; a test's name may hold commas, the rest not. */
function outcomes(text: string): readonly Outcome[] {
  return text
    .trim()
    .split("\n")
    .slice(1)
    .flatMap((line) => {
      const [, test = "", status = "", from = "", to = ""] =
        /^"?(.*?)"?,(\w+),([^,]*),([^,]*)$/.exec(line.trim()) ?? [];
      if (test === "") return [];
      const seconds = (Date.parse(to) - Date.parse(from)) / 1000 || 0;
      return [{ test: test.replace(/\[id-.*$/, ""), status, seconds }];
    });
}

/** Users of its own, no network, and nothing that a machine cannot do. */
function settings(folder: string, { env }: Cloud, side: Side): Sections {
  const domains = ["admin_domain_name", "admin_user_domain_name", "admin_project_domain_name"];
  const cannot = [
    ...["resize", "pause", "suspend", "shelve", "snapshot", "console_output", "vnc_console"],
    ...["change_password", "rescue", "interface_attach", "personality", "metadata_service"],
  ];
  return {
    DEFAULT: { log_file: join(folder, "tempest.log") },
    oslo_concurrency: { lock_path: folder },
    auth: {
      use_dynamic_credentials: true,
      create_isolated_networks: false,
      admin_username: env.OS_USERNAME ?? "",
      admin_password: env.OS_PASSWORD ?? "",
      admin_project_name: env.OS_PROJECT_NAME ?? "",
      ...Object.fromEntries(domains.map((name) => [name, "Default"])),
    },
    identity: { auth_version: "v3", uri_v3: env.OS_AUTH_URL ?? "", region: "" },
    "identity-feature-enabled": { api_v2: false },
    service_available: {
      ...{ cinder: false, neutron: false, swift: false, glance: true, nova: true, ironic: true },
    },
    validation: { run_validation: false },
    compute: {
      ...{ image_ref: side.image, image_ref_alt: side.image },
      ...{ flavor_ref: side.flavor, flavor_ref_alt: side.flavor },
      ...{ build_timeout: 900, build_interval: 5 },
    },
    "compute-feature-enabled": Object.fromEntries(cannot.map((name) => [name, false])),
    baremetal: {
      ...{ catalog_type: side.catalog, driver: "fake-hardware", adoption: true },
      ...{ max_microversion: "1.82", enabled_hardware_types: "fake-hardware,ipmi" },
      ...{ enabled_bios_interfaces: "fake", enabled_deploy_interfaces: "fake,direct" },
      ...{ enabled_boot_interfaces: "fake,pxe", enabled_raid_interfaces: "fake,no-raid" },
    },
  };
}
