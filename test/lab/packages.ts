import { MORE_PROGRAMS, PROGRAMS } from "../../grenade/lib/programs.ts";
import { locate, SERVERS, type Software } from "./binaries.ts";
import { TOOLS, tool } from "./bmc/tools.ts";
import { CHROMIUM } from "./chromium.ts";
import { CLOUD } from "./cloud/programs.ts";
import { IRONIC } from "./ironic/programs.ts";
import { versionsOf } from "./python.ts";
import { unpackedProgram } from "./unpack.ts";

interface Needed extends Software {
  readonly isInstalled: () => boolean;
}

const DATABASES: readonly Needed[] = [
  ...Object.values(SERVERS).map((server) => withPrograms(server, ...server.binaries)),
  withPrograms({ title: "MariaDB's clients", packages: ["mariadb-client"] }, "mariadb-dump"),
];

/** Clients, oracles and browsers that tests compare with or drive. */
const SERVICES: readonly Needed[] = [
  ...DATABASES,
  withModules(IRONIC, "ironic"),
  withModules(CLOUD, "keystone", "nova", "glance"),
  ...Object.keys(TOOLS).map((name) => ofTool(name as keyof typeof TOOLS)),
  withPrograms(CHROMIUM, "chromium"),
  withPrograms({ title: "ShellCheck", packages: ["shellcheck"] }, "shellcheck"),
  withPrograms({ title: "rsync", packages: ["rsync"] }, "rsync"),
  withPrograms({ title: "SSH's client", packages: ["openssh-client"] }, "ssh"),
  withPrograms({ title: "OpenSSL", packages: ["openssl"] }, "openssl"),
  withPrograms({ title: "curl", packages: ["curl"] }, "curl"),
  withPrograms(
    { title: "OpenStack's client", packages: ["python3-openstackclient", "python3-ironicclient"] },
    ...["openstack", "baremetal"],
  ),
  withPrograms({ title: "Neutron", packages: ["neutron-server"] }, "neutron-server"),
  withModules({ title: "Tempest", packages: ["python3-tempest"] }, "tempest"),
];

const CLOUDS: readonly Needed[] = [...SERVICES, ...ofPrograms(PROGRAMS)];

const REHEARSAL: readonly Needed[] = [
  ...CLOUDS,
  ...ofPrograms(MORE_PROGRAMS),
  withModules({ title: "psycopg2", packages: ["python3-psycopg2"] }, "psycopg2"),
];

/** The only one that a lane runs without: not every system has it. */
export const GALERA = "mariadb-server";

/** Programs of packages that would start a service if they were installed: the setup unpacks them. */
const UNPACKED = {
  galera: ["wsrep_sst_rsync", GALERA],
  sshd: ["sshd", "openssh-server"],
  virsh: ["virsh", "libvirt-clients"],
} as const;

const LANES = {
  databases: { software: DATABASES, unpacked: [UNPACKED.galera] },
  services: { software: SERVICES, unpacked: [UNPACKED.sshd, UNPACKED.virsh] },
  deaths: { software: DATABASES, unpacked: [] },
  clouds: { software: CLOUDS, unpacked: [] },
  rehearsal: { software: REHEARSAL, unpacked: [] },
} as const;

export type Equipped = keyof typeof LANES;

export const EQUIPPED = Object.keys(LANES) as readonly Equipped[];

export function missingSoftware(lanes: readonly Equipped[]): readonly Software[] {
  const all = lanes.flatMap((lane) => LANES[lane].software);
  return [...new Set(all)].filter(({ isInstalled }) => !isInstalled());
}

export function missingUnpacked(lanes: readonly Equipped[]): readonly string[] {
  const all = lanes.flatMap((lane) => [...LANES[lane].unpacked]);
  return all.flatMap(([program, pack]) => (unpackedProgram(program, pack) === null ? [pack] : []));
}

function withPrograms(software: Software, ...names: readonly string[]): Needed {
  return { ...software, isInstalled: () => names.every((name) => locate(name) !== null) };
}

function withModules(software: Software, ...names: readonly string[]): Needed {
  return { ...software, isInstalled: () => !versionsOf(names).includes(null) };
}

function ofPrograms(programs: typeof PROGRAMS): readonly Needed[] {
  return programs.map(([program, packages]) => withPrograms({ title: program, packages }, program));
}

function ofTool(name: keyof typeof TOOLS): Needed {
  const isInstalled = (): boolean => {
    try {
      tool(name);
      return true;
    } catch {
      return false;
    }
  };
  return { ...TOOLS[name], isInstalled };
}
