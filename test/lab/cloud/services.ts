import { ADMIN, type Service } from "./config.ts";

/** How a service is made and served; its folder is where its commands run. */
export interface Served {
  /** Its configuration's name in the folder. */
  readonly config: string;
  /** What its own program is told to make tables. */
  readonly schema: readonly string[];
  /** Shell commands after which it can be served. */
  readonly prepare: () => readonly string[];
  /** Python's statements between its application and the first request. */
  readonly first?: string;
  /** Variables that lead it to its configuration. */
  readonly env: (folder: string) => { readonly [name: string]: string };
  /** Module and function that make its WSGI application. */
  readonly application: readonly [module: string, made: string];
}

const PASTE = "glance-api-paste.ini";

/**
 * What `keystone-manage bootstrap` does, in the process that serves: to load all of Keystone for it costs more than it
 * does.
 * @source keystone: cmd/cli.py, BootStrap.do_bootstrap
 */
const BOOTSTRAP = `
from keystone.cmd import bootstrap
# They are loaded, which can be done once.
bootstrap.backends.load_backends = lambda: None
own = bootstrap.Bootstrapper()
own.admin_username = own.project_name = own.admin_role_name = "${ADMIN}"
own.admin_password = open("password").read()
own.service_name = "keystone"
own.admin_url = own.internal_url = own.public_url = f"http://127.0.0.1:{port}/v3"
own.immutable_roles = True
own.bootstrap()
`;

/** @source facts/lab.md 5, 6 */
export const SERVED: { readonly [service in Service]: Served } = {
  keystone: {
    config: "keystone.conf",
    schema: ["db_sync"],
    prepare: () => [
      // As fernet_setup and credential_setup make them, in a hundredth of the time.
      `(umask 077; for key in fernet/0 fernet/1 credential/0 credential/1; do
        printf %s "$(head -c 32 /dev/urandom | base64 | tr +/ -_)" >$key; done)`,
    ],
    first: BOOTSTRAP,
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

/**
 * Serves a WSGI application with keep-alive that holds: PORT MODULE FUNCTION.
 * @param first Python's statements between the application and the first request
 */
export const serving = (first = ""): string => `
import eventlet; eventlet.monkey_patch()
import importlib, sys
from eventlet import wsgi
port, module, made = int(sys.argv[1]), sys.argv[2], sys.argv[3]
sys.argv = [made]
made = getattr(importlib.import_module(module), made)()
${first}
wsgi.server(eventlet.listen(("127.0.0.1", port)), made, log_output=False)
`;
