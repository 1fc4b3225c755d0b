import { type Declared, flag, number, type OptionTable, string } from "./declared.ts";
import { SWITCHING } from "./node/actions.ts";

const LISTEN = [
  /^(?:\[[\da-f:.]+\]|[^:[\]\s]+):(?:[0-5]?\d{1,4}|6[0-4]\d{3}|65[0-4]\d\d|655[0-2]\d|6553[0-5])$/i,
  "HOST:PORT, such as 127.0.0.1:8785 or [::1]:8785",
] as const;

const CHECKS = {
  oneOf: ["keystone-url auth=none"],
  implies: ["tls-cert: tls-key", "tls-key: tls-cert"],
} as const satisfies Partial<Declared>;

/** @param extra options that only this service has */
function options(listen: string, policy: string, extra: OptionTable): OptionTable {
  return {
    listen: string("HOST:PORT to listen on", { default: listen, form: LISTEN }),
    "keystone-url": string("URL of Keystone, which validates tokens"),
    "ironic-url": string("URL of the bare metal service"),
    ...extra,
    "tls-cert": string("Serve TLS with this certificate (PEM)"),
    "tls-key": string("Private key of --tls-cert (PEM)"),
    "os-cacert": string("CA certificates for Keystone and Ironic (PEM)"),
    "policy-file": string(`${policy} policy.yaml or policy.json. SIGHUP reloads it`),
    "token-cache": number("Seconds to cache a validated token", { default: 60 }),
    "api-timeout": number("Maximum seconds for a call to Keystone or Ironic", {
      default: 60,
      above: 0,
    }),
    "max-connections": number("Maximum number of connections. Further connections are closed", {
      default: 512,
      least: 1,
      integer: true,
    }),
    auth: string("none: require no token, for a test Ironic without Keystone", {
      ...{ choices: ["keystone", "none"], default: "keystone" },
    }),
  };
}

/** In the order of help. */
export const SERVE = {
  proxy: {
    command: "serve proxy",
    describe: "Serve Nova's os-baremetal-nodes API from Ironic, read-only",
    serves: true,
    options: options("127.0.0.1:8785", "Nova's", {
      "from-catalog": flag("Use the Ironic URL in the catalog of each caller's token"),
      interface: string("With --from-catalog: interface of the endpoint", {
        ...{ choices: ["public", "internal", "admin"], default: "public" },
      }),
      region: string("With --from-catalog: region of the endpoint"),
      "nova-compat": flag("Reject write requests with 400, like Nova, instead of 404"),
      run: string("Folder of a run. The service then also finds machines by bm_nodes.id"),
    }),
    exclude: ["from-catalog auth=none", "from-catalog ironic-url"],
    oneOf: [...CHECKS.oneOf, "ironic-url from-catalog"],
    implies: [...CHECKS.implies, "region interface=internal interface=admin: from-catalog"],
    fixes: { "auth=none": "Remove one of them. Without tokens, a request has no catalog." },
    examples: [
      "$0 serve proxy --keystone-url https://keystone:5000 --ironic-url https://ironic:6385",
      "$0 serve proxy --keystone-url https://keystone:5000 --from-catalog --policy-file /etc/nova/policy.yaml",
    ],
  },
  manageable: {
    command: "serve manageable",
    describe: "Serve the manageable machines, and manage them. Writes use the credentials in OS_*",
    serves: true,
    options: options("127.0.0.1:6388", "Nova's", {
      run: string("Folder of a run, which rollback needs to delete the records", {
        demandOption: true,
      }),
    }),
    ...CHECKS,
    examples: ["$0 serve manageable --run s1 --keystone-url https://keystone:5000"],
  },
  switchover: {
    command: "serve switchover",
    describe: "Serve switchovers: PUT /v1/nodes/{ident}/switchover. Writes use OS_* credentials",
    serves: true,
    ...{ oneOf: CHECKS.oneOf, implies: [...CHECKS.implies, ...SWITCHING.implies] },
    exclude: SWITCHING.exclude,
    options: options("127.0.0.1:6386", "Ironic's", {
      state: string("Folder with a run for each accepted switchover", { demandOption: true }),
      ...SWITCHING.options,
    }),
    examples: ["$0 serve switchover --state /var/lib/n2i --keystone-url https://keystone:5000"],
  },
} as const satisfies { readonly [service: string]: Declared };
