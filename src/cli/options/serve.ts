import type { ProxyAsked } from "../../serving/bind.ts";
import type { Voice } from "../commands/shared.ts";
import { type Declared, flag, number, type OptionTable, word } from "./declared.ts";
import { SWITCHING } from "./node/actions.ts";

export interface ServeArgs extends Voice, ProxyAsked {}

/** A port is at most 65535. */
const LISTEN = [
  /^(?:\[[\da-f:.]+\]|[^:[\]\s]+):(?:[0-5]?\d{1,4}|6[0-4]\d{3}|65[0-4]\d\d|655[0-2]\d|6553[0-5])$/i,
  "HOST:PORT, such as 127.0.0.1:8785 or [::1]:8785",
] as const;

/** Every service. */
const CHECKS = {
  oneOf: ["keystone-url auth=none"],
  want: ["tls-cert: tls-key", "tls-key: tls-cert"],
} as const satisfies Partial<Declared>;

/** @param own what only this service has */
function options(listen: string, policy: string, own: OptionTable): OptionTable {
  return {
    listen: word("HOST:PORT to listen on", { default: listen, form: LISTEN }),
    "keystone-url": word("URL of Keystone, which validates tokens"),
    "ironic-url": word("URL of the bare metal service"),
    ...own,
    "tls-cert": word("Serve TLS with this certificate (PEM)"),
    "tls-key": word("and its key"),
    "os-cacert": word("File of authorities of Keystone and Ironic (PEM)"),
    "policy-file": word(`${policy} policy.yaml or policy.json; SIGHUP reads it again`),
    "token-cache": number("Seconds that Keystone's answer about a token is kept", { default: 60 }),
    "api-timeout": number("Seconds that Keystone or Ironic may take for a call", {
      default: 60,
      above: 0,
    }),
    "max-connections": number("Connections at once; more are closed", {
      default: 512,
      least: 1,
      whole: true,
    }),
    auth: word("none: require no token, for a lab's Ironic without Keystone", {
      ...{ choices: ["keystone", "none"], default: "keystone" },
    }),
  };
}

/** The commands of `serve`, in the order of help. */
export const SERVE = {
  proxy: {
    command: "serve proxy",
    describe: "Serve Nova's read-only os-baremetal-nodes API over Ironic; writes nothing",
    serves: true,
    options: options("127.0.0.1:8785", "Nova's", {
      "from-catalog": flag("Look up Ironic's URL in the catalog of each caller's token"),
      interface: word("With --from-catalog: endpoint", {
        ...{ choices: ["public", "internal", "admin"], default: "public" },
      }),
      region: word("With --from-catalog: region"),
      "nova-compat": flag("Refuse what writes with Nova's 400 rather than 404"),
      run: word("Folder of a run: its plan knows machines by bm_nodes.id too"),
    }),
    exclude: ["from-catalog auth=none", "from-catalog ironic-url"],
    oneOf: [...CHECKS.oneOf, "ironic-url from-catalog"],
    want: [...CHECKS.want, "region interface=internal interface=admin: from-catalog"],
    fixes: { "auth=none": "Remove one of them: without tokens, a request has no catalog." },
    examples: [
      "$0 serve proxy --keystone-url https://keystone:5000 --ironic-url https://ironic:6385",
      "$0 serve proxy --keystone-url https://keystone:5000 --from-catalog --policy-file /etc/nova/policy.yaml",
    ],
  },
  manageable: {
    command: "serve manageable",
    describe:
      "Serve the machines that can be managed, and manage them; writes by the login of OS_*",
    serves: true,
    options: options("127.0.0.1:6388", "Nova's", {
      run: word("Folder of a run, by which rollback deletes the records", { demandOption: true }),
    }),
    ...CHECKS,
    examples: ["$0 serve manageable --run s1 --keystone-url https://keystone:5000"],
  },
  switchover: {
    command: "serve switchover",
    describe: "Serve switchovers: PUT /v1/nodes/{ident}/switchover; writes by the login of OS_*",
    serves: true,
    ...{ oneOf: CHECKS.oneOf, want: [...CHECKS.want, ...SWITCHING.want] },
    exclude: SWITCHING.exclude,
    options: options("127.0.0.1:6386", "Ironic's", {
      state: word("Folder with a run for each switchover that was accepted", {
        demandOption: true,
      }),
      ...SWITCHING.options,
    }),
    examples: ["$0 serve switchover --state /var/lib/n2i --keystone-url https://keystone:5000"],
  },
} as const satisfies { readonly [service: string]: Declared };
