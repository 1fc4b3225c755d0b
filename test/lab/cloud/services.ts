import { ADMIN, type CloudPlace, type Service } from "./config.ts";

/** How a service is made and served; its folder is where its commands run. */
export interface Served {
  /** Its configuration's name in the folder. */
  readonly config: string;
  /** What its own program is told to make tables. */
  readonly schema: readonly string[];
  /** Shell commands after which it can be served; `$manage` is its own program. */
  readonly prepare: (place: Omit<CloudPlace, "folder">) => readonly string[];
  /** Variables that lead it to its configuration. */
  readonly env: (folder: string) => { readonly [name: string]: string };
  /** Module and function that make its WSGI application. */
  readonly application: readonly [module: string, made: string];
}

const PASTE = "glance-api-paste.ini";

/** @source facts/lab.md 5, 6 */
export const SERVED: { readonly [service in Service]: Served } = {
  keystone: {
    config: "keystone.conf",
    schema: ["db_sync"],
    prepare: ({ ports }) => [
      // As fernet_setup and credential_setup make them, in a hundredth of the time.
      `(umask 077; for key in fernet/0 fernet/1 credential/0 credential/1; do
        printf %s "$(head -c 32 /dev/urandom | base64 | tr +/ -_)" >$key; done)`,
      `OS_BOOTSTRAP_PASSWORD=$(cat password) $manage bootstrap --bootstrap-username ${ADMIN} ` +
        ["admin", "internal", "public"]
          .map((kind) => `--bootstrap-${kind}-url http://127.0.0.1:${ports.keystone}/v3`)
          .join(" "),
    ],
    env: (folder) => ({ OS_KEYSTONE_CONFIG_FILES: `${folder}/keystone.conf` }),
    application: ["keystone.server.wsgi", "initialize_public_application"],
  },
  nova: {
    config: "nova.conf",
    schema: ["api_db sync", "db sync --local_cell"],
    prepare: () => [],
    env: (folder) => ({
      OS_NOVA_CONFIG_FILES: `/usr/share/nova-common/api-paste.ini;${folder}/nova.conf`,
    }),
    application: ["nova.api.openstack.compute.wsgi", "init_application"],
  },
  glance: {
    config: "glance-api.conf",
    schema: ["db_sync"],
    prepare: () => [`cp /usr/share/glance-common/${PASTE} .`],
    env: (folder) => ({ OS_GLANCE_CONFIG_DIR: folder }),
    application: ["glance.common.wsgi_app", "init_app"],
  },
};

/** Serves a WSGI application with keep-alive that holds: PORT MODULE FUNCTION. */
export const SERVE = `
import eventlet; eventlet.monkey_patch()
import importlib, sys
from eventlet import wsgi
port, module, made = int(sys.argv[1]), sys.argv[2], sys.argv[3]
sys.argv = [made]
made = getattr(importlib.import_module(module), made)()
wsgi.server(eventlet.listen(("127.0.0.1", port)), made, log_output=False)
`;
