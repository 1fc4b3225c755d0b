import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import { type Run, runProgram } from "../../lib/files/run-program.ts";
import type { VirtualPower } from "../../model/machine.ts";
import type { PowerOutcome, PowerVerdict } from "../../model/power.ts";

/** @throws the signal's reason if aborted; MigrationError N2I-E400 without ssh */
export async function runSsh(
  program: string,
  route: Route,
  line: string,
  limits: { readonly deadline: number; readonly signal: AbortSignal },
): Promise<Run> {
  const { HOME, SSH_AUTH_SOCK: agent } = process.env;
  const environment = {
    ...(HOME !== undefined && { HOME }),
    // An agent can provide a key that has a passphrase.
    ...(agent !== undefined && { SSH_AUTH_SOCK: agent }),
  };
  return runProgram(
    {
      ...{ name: "ssh", program, args: sshArguments(route, line, limits.deadline), environment },
      fix: "Install the package openssh-client, then run power again.",
    },
    limits,
  );
}

/**
 * Uses the key only, without prompts. Other settings come from the system's configuration, for
 * example StrictHostKeyChecking. A shared connection (ControlMaster) would outlive the deadline.
 *
 * @param timeout milliseconds to connect
 */
function sshArguments(route: Route, line: string, timeout: number): readonly string[] {
  const { host, port, user, key } = route;
  const options = {
    BatchMode: "yes",
    ClearAllForwardings: "yes",
    ConnectTimeout: String(Math.max(1, Math.floor(timeout / 1000))),
    ConnectionAttempts: "1",
    ControlMaster: "no",
    ControlPath: "none",
    ForwardAgent: "no",
    ForwardX11: "no",
    // The level at which ssh logs failures.
    LogLevel: "ERROR",
    PermitLocalCommand: "no",
    PreferredAuthentications: "publickey",
    PubkeyAuthentication: "yes",
    RemoteCommand: "none",
  };
  return [
    ...["-n", "-T", "-p", String(port), "-l", user],
    // ssh expands percent codes in IdentityFile.
    ...["-i", key.replaceAll("%", "%%"), "-o", "IdentitiesOnly=yes"],
    ...Object.entries(options).flatMap(([name, value]) => ["-o", `${name}=${value}`]),
    ...["--", host, line],
  ];
}

/**
 * Specific messages are first, because ssh also prints `Permission denied` after them.
 *
 * @source OpenSSH 9.2 sshconnect.c, sshconnect2.c, authfile.c, packet.c
 */
const SENTENCES: readonly (readonly [RegExp, PowerVerdict, (route: Route) => string])[] = [
  [
    /REMOTE HOST IDENTIFICATION HAS CHANGED|[Hh]ost key for .* has changed|REVOKED HOST KEY/,
    "protocol-error",
    (to) =>
      `${address(to)} has a host key that differs from ssh's known_hosts: find out why, then remove the old key with ssh-keygen -R "${to.port === 22 ? to.host : `[${to.host}]:${to.port}`}"`,
  ],
  [
    /Host key verification failed|host key is known for/,
    "protocol-error",
    (to) =>
      `ssh does not know the host key of ${address(to)}: run ssh -p ${to.port} ${to.user}@${to.host} once as this user, compare the fingerprint, and accept it`,
  ],
  [
    /no matching .* found\. Their offer/,
    "protocol-error",
    (to) =>
      `${address(to)} supports only old ciphers or keys that this ssh does not allow: enable them for this host in ssh_config (HostKeyAlgorithms, KexAlgorithms, Ciphers)`,
  ],
  [
    /UNPROTECTED PRIVATE KEY FILE|bad permissions/,
    "incomplete",
    () =>
      "ssh rejects a key that other users can read: chmod 600 the file in virtual_power_host_key",
  ],
  [
    /Load key .*: (?!Permission denied)/,
    "incomplete",
    () => "ssh cannot read the key in virtual_power_host_key, or the key has a passphrase",
  ],
  [
    /no mutual signature supported/,
    "incomplete",
    (to) =>
      `this ssh does not sign with any algorithm that ${address(to)} supports: allow ssh-rsa for it in ssh_config (PubkeyAcceptedAlgorithms)`,
  ],
  [
    /Permission denied|Too many authentication failures|No more authentication methods/,
    "wrong-password",
    (to) => `${address(to)} rejects the key of ${to.user}`,
  ],
  [/Could not resolve hostname/, "unreachable", (to) => `the name ${to.host} is not known`],
  [/Connection refused/, "unreachable", (to) => `${address(to)} refuses connections`],
  [/timed out|Timeout/, "unreachable", (to) => `${address(to)} does not answer`],
  [
    /No route to host|Network is unreachable/,
    "unreachable",
    (to) => `there is no route to ${to.host}`,
  ],
  [
    /Connection (to .* )?(closed|reset)|kex_exchange_identification|Broken pipe/,
    "unreachable",
    (to) => `${address(to)} closes the connection`,
  ],
];

/** @param answered whether the remote shell had started */
export function failureOf(run: Run, route: Route, answered: boolean): PowerOutcome {
  if (run.stopped === "late")
    return {
      verdict: "unreachable",
      detail: answered
        ? `${address(route)} did not list its machines in time`
        : `${address(route)} did not answer in time`,
    };
  if (run.stopped === "flood")
    return {
      verdict: "protocol-error",
      detail: `${address(route)} sends too much output for a list`,
    };
  for (const [sentence, verdict, describe] of run.status === 0 ? [] : SENTENCES)
    if (sentence.test(run.stderr)) return { verdict, detail: describe(route) };
  const fault = answered ? "stops in the middle of its list" : "does not run our commands";
  return { verdict: "protocol-error", detail: `${address(route)} accepts the login, but ${fault}` };
}

function address({ host, port }: Route): string {
  return port === 22 ? host : `${host} port ${port}`;
}

export interface Route {
  readonly type: "virsh" | "vbox";
  readonly host: string;
  readonly port: number;
  readonly user: string;
  /** Path of a readable private key. */
  readonly key: string;
}

/** Validates the settings. Nothing is sent. */
export async function routeOf(settings: VirtualPower): Promise<Route | PowerOutcome> {
  const { virtual_power_type: type, virtual_power_ssh_port: port } = settings;
  const host = settings.virtual_power_ssh_host ?? "";
  const user = settings.virtual_power_host_user ?? "";
  if (host === "") return cannot("virtual", "virtual_power_ssh_host is not set");
  if (type !== "virsh" && type !== "vbox")
    return cannot("virtual", "virtual_power_type is neither virsh nor vbox");
  if (!(/^[A-Za-z0-9_:][\w.:-]*(%[\w.-]+)?$/.test(host) && host.length <= 255))
    return cannot("incomplete", "virtual_power_ssh_host is not a host name");
  if (!Number.isInteger(port) || port < 1 || port > 65535)
    return cannot("incomplete", "virtual_power_ssh_port is not a port");
  if (user === "") return cannot("incomplete", "virtual_power_host_user is not set");
  // A user name that ssh accepts, without blanks and `%` codes. @source OpenSSH ssh.c valid_ruser
  if (!/^(?!-)[^\s'`";&<>|(){}%\\]{1,128}$/.test(user) || !/^[\x21-\x7e]+$/.test(user))
    return cannot("incomplete", "virtual_power_host_user is not a user name");

  const key = settings.virtual_power_host_key ?? "";
  if (key === "") return cannot("incomplete", "virtual_power_host_key is not set");
  if (await isReadable(key)) return { type, host, port, user, key };
  return cannot(
    "incomplete",
    "the file in virtual_power_host_key cannot be read: run this command on the compute host, or copy the file to the same path",
  );
}

function cannot(verdict: PowerVerdict, detail: string): PowerOutcome {
  return { verdict, detail };
}

/** ssh would expand `~` and `${}` in other paths. */
async function isReadable(path: string): Promise<boolean> {
  if (!path.startsWith("/") || /\$\{|\0/.test(path)) return false;
  try {
    await access(path, constants.R_OK);
    return (await stat(path)).isFile();
  } catch {
    // A missing and an unreadable file are the same to ssh.
    return false;
  }
}
