import { freePort } from "../daemon.ts";
import { PYTHON } from "../python.ts";
import { common, ini } from "./config.ts";
import { type Cloud, folderOf, startService } from "./start.ts";

/**
 * Nova's own API without a database, which os-baremetal-nodes reads nothing of: PORT IRONIC. Its client
 * of Ironic is made of options that are gone since Ocata: it is replaced by one of Nova's session, kept
 * from request to request, but for those that say otherwise.
 */
const SERVE = `
import eventlet; eventlet.monkey_patch()
import functools, sys
from eventlet import wsgi
from ironicclient import client
from keystoneauth1 import loading
import nova.conf
from nova.api.openstack import wsgi_app
port, ironic = int(sys.argv[1]), sys.argv[2]
sys.argv = ["nova-api"]
wsgi_app._setup_service = lambda host, name: None
from nova.api.openstack.compute import baremetal_nodes
from nova.api.openstack.compute.wsgi import init_application
application = init_application()
shipped = baremetal_nodes._get_ironic_client
@functools.lru_cache
def mended():
    auth = loading.load_auth_from_conf_options(nova.conf.CONF, "ironic")
    session = loading.load_session_from_conf_options(nova.conf.CONF, "ironic", auth=auth)
    return client.get_client(1, session=session, endpoint=ironic)
def served(environ, start):
    baremetal_nodes._get_ironic_client = shipped if "HTTP_X_AS_SHIPPED" in environ else mended
    return application(environ, start)
wsgi.server(eventlet.listen(("127.0.0.1", port)), served, log_output=False)
`;

/** Sent with a request, has Nova answer as its package does. */
export const AS_SHIPPED = { "X-As-Shipped": "yes" } as const;

/** Starts nova-api alone beside this Keystone; it dies with this process. @returns its URL, and its end */
export async function startNovaApi({ authtoken }: Pick<Cloud, "authtoken">, ironic: string) {
  const port = await freePort();
  const { folder } = folderOf("nova", (at) => ({
    "nova.conf": ini({
      ...common({ folder: at }),
      DEFAULT: { host: "lab", my_ip: "127.0.0.1", state_path: at, transport_url: "fake:/" },
      api: { auth_strategy: "keystone" },
      keystone_authtoken: authtoken,
      ironic: authtoken,
    }),
  }));
  const files = `OS_NOVA_CONFIG_FILES=/usr/share/nova-common/api-paste.ini;${folder}/nova.conf`;
  const program = ["env", files, PYTHON, "-c", SERVE, String(port), ironic];
  return startService({ service: "nova", folder, port }, "mkdir policy.d", program);
}
