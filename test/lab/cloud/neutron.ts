import { join } from "node:path";
import { needsProgram } from "../binaries.ts";
import { versionsOf } from "../python.ts";
import type { Server } from "../server.ts";
import { common, ini, type Sections, sqlalchemy } from "./config.ts";
import { onceMade, runAs, withSchema } from "./schema.ts";
import { type Cloud, folderOf, startService } from "./start.ts";

export const NEUTRON = { title: "Neutron 21 (Zed)", packages: ["neutron-server"] } as const;

export const NEUTRON_DATABASE = "neutron";

/** A mechanism driver of ML2 that no package brings. */
export interface Mechanism {
  /** Of the Python module and the class in it. */
  readonly module: string;
  readonly class: string;
  readonly text: string;
}

export interface NeutronPlace {
  readonly server: Server;
  readonly cloud: Pick<Cloud, "authtoken">;
  readonly mechanism: Mechanism;
  readonly port: number;
  /** Processes that answer, besides the first: none unless given, where Neutron has one for each processor. */
  readonly workers?: number;
  /** Whether ports have a `dns_name`: only with a router does Neutron know it. */
  readonly dns?: boolean;
  /** Folder for its schema, once made. */
  readonly kept?: string;
}

/**
 * Starts the real neutron-server beside a cloud's Keystone, with no agent: ports are bound by the mechanism driver
 * given. It dies with this process.
 * @throws Error when it is not installed
 */
export async function startNeutron(place: NeutronPlace) {
  const serve = needsProgram("neutron-server", NEUTRON);
  const { server, mechanism, port, kept } = place;
  const entry = `${mechanism.module} = ${mechanism.module}:${mechanism.class}`;
  const { user, folder } = folderOf("neutron", (at) => ({
    "neutron.conf": ini(sections(place, at)),
    [`${mechanism.module}.py`]: mechanism.text,
    METADATA: `Name: ${mechanism.module}\nVersion: 1\n`,
    "entry_points.txt": `[neutron.ml2.mechanism_drivers]\n${entry}\n`,
  }));
  const config = ["--config-file", join(folder, "neutron.conf")];
  const [version] = versionsOf(["neutron"]);
  const key = `neutron-${version}`;
  const sync = async (): Promise<void> => {
    const manage = needsProgram("neutron-db-manage", NEUTRON);
    await runAs(user, folder, [manage, ...config, "upgrade", "heads"]);
  };
  const once = () => onceMade(server, [NEUTRON_DATABASE], { key, make: sync });
  await withSchema(server, [NEUTRON_DATABASE], { kept, key, make: once });
  // ML2 takes a mechanism driver from an installed package alone: this folder is one.
  const installed = `${mechanism.module}-1.dist-info`;
  const prepare = `mkdir policy.d ${installed} && mv METADATA entry_points.txt ${installed}`;
  const program = ["env", `PYTHONPATH=${folder}`, serve, ...config];
  return startService({ service: "neutron", folder, port }, prepare, program);
}

export type Neutron = Awaited<ReturnType<typeof startNeutron>>;

function sections(
  { server, cloud, mechanism, port, workers = 0, dns = false }: NeutronPlace,
  folder: string,
): Sections {
  return {
    ...common({ folder }),
    DEFAULT: {
      ...{ bind_host: "127.0.0.1", bind_port: port, state_path: folder, core_plugin: "ml2" },
      ...(dns && { service_plugins: "router", dns_domain: "lab.example." }),
      // No agent to be told.
      ...{ api_workers: workers, rpc_workers: 0, transport_url: "fake:/" },
      ...{ dhcp_agent_notification: false, network_auto_schedule: false },
      // Ironic opens a connection for each task and leaves it open: at Neutron's own 100 nobody is answered any more.
      wsgi_default_pool_size: 1000,
      ...{ api_paste_config: "/usr/share/neutron-common/api-paste.ini" },
    },
    database: { connection: sqlalchemy(server, NEUTRON_DATABASE) },
    keystone_authtoken: cloud.authtoken,
    // Of what becomes of a server's ports it tells Nova, as it does anywhere.
    nova: cloud.authtoken,
    ml2: {
      ...{ type_drivers: "flat", tenant_network_types: "", extension_drivers: dns ? "dns" : "" },
      mechanism_drivers: mechanism.module,
    },
    ml2_type_flat: { flat_networks: "*" },
  };
}
