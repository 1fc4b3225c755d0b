import { join } from "node:path";
import { needsProgram } from "../binaries.ts";
import { startDaemon } from "../daemon.ts";
import { owner, privateFile, privateFolder } from "../folder.ts";
import { PYTHON, versionsOf } from "../python.ts";
import type { Server } from "../server.ts";
import { common, ini, sqlalchemy } from "./config.ts";
import { runAs, withSchema } from "./schema.ts";
import { serving } from "./services.ts";
import { answers, type Cloud } from "./start.ts";

export const PLACEMENT = { title: "Placement 8 (Zed)", packages: ["placement-api"] } as const;

export const PLACEMENT_DATABASE = "placement";

/**
 * Starts the real Placement beside a cloud's Keystone. It dies with this process.
 * @param kept folder for its schema, once made
 * @throws Error when it is not installed
 */
export async function startPlacement(
  server: Server,
  { authtoken }: Pick<Cloud, "authtoken">,
  kept: string,
  port: number,
) {
  const manage = needsProgram("placement-manage", PLACEMENT);
  const user = owner("placement");
  const folder = privateFolder("n2i-placement-", user);
  const config = join(folder, "placement.conf");
  const sections = {
    ...common({ folder }),
    api: { auth_strategy: "keystone" },
    placement_database: { connection: sqlalchemy(server, PLACEMENT_DATABASE) },
    keystone_authtoken: authtoken,
  };
  privateFile(config, ini(sections), user);
  privateFile(join(folder, "policy.yaml"), "# as shipped\n", user);
  const [version] = versionsOf(["openstack-placement"]);
  await withSchema(server, [PLACEMENT_DATABASE], {
    kept,
    key: `placement-${version}`,
    make: async () => {
      await runAs(user, folder, [manage, "--config-file", config, "db", "sync"]);
    },
  });
  const application = ["placement.wsgi", "init_application"];
  const variable = `OS_PLACEMENT_CONFIG_DIR=${folder}`;
  const daemon = startDaemon(
    ["mkdir", "policy.d"],
    ["env", variable, PYTHON, "-c", serving(), String(port), ...application],
    { folder, signal: "TERM", owner: user },
  );
  const url = `http://127.0.0.1:${port}`;
  await answers("placement", `${url}/`, daemon, join(folder, "log"));
  return { url, stop: daemon.stop };
}
