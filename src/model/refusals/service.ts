import { EXIT_STATUS } from "../exit.ts";
import type { Refusal } from "./kind.ts";

const { failed, refused, denied } = EXIT_STATUS;

/** N2I-E209 to E215, E220: a service that is spoken to over HTTP. */
export const SERVICE = {
  "N2I-E209": {
    exit: refused.status,
    title: "this bare metal service cannot adopt",
    why: "Adoption came with microversion 1.17 of Newton; every call is pinned to one version.",
    fix: "Load into the database with --ironic-db, or upgrade Ironic first.",
  },
  "N2I-E210": {
    exit: failed.status,
    title: "a service does not answer",
    why: "The connection was refused or cut, the time limit passed, or it answered with server errors only.",
    fix: "Check URL and network, then run the same command again.",
  },
  "N2I-E211": {
    exit: denied.status,
    title: "a service refuses the login",
    why: "User, password or token is wrong, or the role lacks a right.",
    fix: "Check the credential; Ironic wants the role admin (baremetal_admin), of the system (OS_SYSTEM_SCOPE=all) where it enforces scopes; Nova admin for flavors.",
  },
  "N2I-E212": {
    exit: failed.status,
    title: "a service refuses a call",
    why: "It answered with an error that no second try would change.",
    fix: "Look at what it says; with --debug the call is named.",
  },
  "N2I-E213": {
    exit: failed.status,
    title: "a service cannot be spoken to encrypted",
    why: "Its certificate cannot be trusted as it stands, or both sides do not agree on TLS; nothing was sent.",
    fix: "Fix the certificate or name its authority; --insecure looks at no certificate at all.",
  },
  "N2I-E214": {
    exit: refused.status,
    title: "nobody is there to adopt machines",
    why: "Adoption is a living conductor's work: one of the machine's conductor group that has its driver.",
    fix: "Start a conductor of each group named, with the driver enabled, then run the same command again.",
  },
  "N2I-E215": {
    exit: refused.status,
    title: "an image is not what is asked for",
    why: "Flavors would name an image that no deployment can boot, or one of several by chance.",
    fix: "Compare openstack image list --name NAME and openstack image show ID; give the image you mean.",
  },
  "N2I-E220": {
    exit: failed.status,
    title: "an answer of a service does not end",
    why: "No service this tool asks says so much at once; to keep it would take all memory.",
    fix: "Look at what answers at that address, a proxy in between too, then run the same command again.",
  },
} as const satisfies Record<string, Refusal>;
