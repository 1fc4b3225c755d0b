import { join } from "node:path";
import { needsProgram } from "../binaries.ts";
import { PYTHON, versionsOf } from "../python.ts";
import type { Server } from "../server.ts";
import { common, ini, sqlalchemy } from "./config.ts";
import { runAs, withSchema } from "./schema.ts";
import { serving } from "./services.ts";
import { type Cloud, folderOf, startService } from "./start.ts";

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
  const { user, folder } = folderOf("placement", (at) => ({
    "placement.conf": ini({
      ...common({ folder: at }),
      api: { auth_strategy: "keystone" },
      placement_database: { connection: sqlalchemy(server, PLACEMENT_DATABASE) },
      keystone_authtoken: authtoken,
    }),
  }));
  const [version] = versionsOf(["openstack-placement"]);
  await withSchema(server, [PLACEMENT_DATABASE], {
    kept,
    key: `placement-${version}`,
    make: async () => {
      const config = join(folder, "placement.conf");
      await runAs(user, folder, [manage, "--config-file", config, "db", "sync"]);
    },
  });
  return startService({ service: "placement", folder, port }, "mkdir policy.d", [
    ...["env", `OS_PLACEMENT_CONFIG_DIR=${folder}`, PYTHON, "-c", serving(), `${port}`],
    ...["placement.wsgi", "init_application"],
  ]);
}
