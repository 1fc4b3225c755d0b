import type { ProxyAsked } from "../../serving/bind.ts";
import type { Voice } from "../commands/shared.ts";
import { type Declared, flag, number, word } from "./declared.ts";
import { SWITCHING } from "./node/actions.ts";

export interface ServeArgs extends Voice, Omit<ProxyAsked, "listen"> {
  readonly service: "proxy" | "manageable" | "switchover";
  readonly listen?: string;
}

/** Options of one service alone, by it. */
export const OF_SERVICE = {
  proxy: ["nova-compat", "from-catalog", "interface", "region"],
  manageable: [],
  switchover: ["state", ...Object.keys(SWITCHING)],
} as const satisfies { readonly [service in ServeArgs["service"]]: readonly string[] };

/** One that always has a value. */
function seconds(describe: string, usual: number) {
  return number(describe, { default: usual, requiresArg: true });
}

export const serveOptions: Declared = {
  command: "serve <service>",
  describe:
    "Serve Nova's read-only os-baremetal-nodes API, machines that can be managed, or switchovers, over Ironic",
  serves: true,
  positional: [
    [
      "service",
      {
        type: "string",
        choices: Object.keys(OF_SERVICE),
        describe: Object.keys(OF_SERVICE).join(", "),
      },
    ],
  ],
  options: {
    listen: word(
      "HOST:PORT to listen on (127.0.0.1:8785; of manageable 127.0.0.1:6388, of switchover 127.0.0.1:6386)",
    ),
    "keystone-url": word("URL of Keystone, which says whose a token is"),
    "ironic-url": word("URL of the bare metal service"),
    "from-catalog": flag("Look that URL up in the catalog of each caller's token"),
    interface: word("With --from-catalog: endpoint", {
      ...{ choices: ["public", "internal", "admin"], default: "public" },
    }),
    region: word("With --from-catalog: region"),
    "tls-cert": word("Serve TLS with this certificate (PEM)"),
    "tls-key": word("and its key"),
    "os-cacert": word("File of authorities of Keystone and Ironic (PEM)"),
    "policy-file": word(
      "Nova's policy.yaml or policy.json, of switchover Ironic's; SIGHUP reads it again",
    ),
    "nova-compat": flag("Refuse what writes with Nova's 400 rather than 404"),
    run: word(
      "Folder of a run: its plan knows machines by bm_nodes.id too; of manageable: the way back",
    ),
    "token-cache": seconds("Seconds that Keystone's word on a token is kept", 60),
    "api-timeout": seconds("Seconds that Keystone or Ironic may take for a call", 60),
    "max-connections": seconds("Connections at once; one more is closed", 512),
    auth: word("none: ask for no token, for a lab's Ironic without Keystone", {
      ...{ choices: ["keystone", "none"], default: "keystone" },
    }),
    state: word("Of switchover: folder with a run for each that was accepted"),
    ...SWITCHING,
  },
  epilogue:
    "proxy has no login of its own and writes nothing; manageable and switchover write by the login of OS_*",
  examples: [
    "$0 serve manageable --run s1 --keystone-url https://keystone:5000",
    "$0 serve switchover --state /var/lib/n2i --keystone-url https://keystone:5000",
    "$0 serve proxy --keystone-url https://keystone:5000 --ironic-url https://ironic:6385",
    "$0 serve proxy --keystone-url https://keystone:5000 --from-catalog --policy-file /etc/nova/policy.yaml",
  ],
};
