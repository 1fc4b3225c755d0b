import type { PowerOutcome, PowerVerdict } from "../../model/power.ts";
import { withBriefFile } from "../process/brief-file.ts";
import { type Run, runProgram } from "../process/run.ts";
import type { Route } from "./settings.ts";

/**
 * Runs the line on the route's host, by one ssh.
 *
 * @throws the signal's reason when it is aborted; MigrationError N2I-E400 when there is no ssh
 */
export async function runSsh(
  program: string,
  route: Route,
  line: string,
  limits: { readonly deadline: number; readonly signal: AbortSignal },
): Promise<Run> {
  const { key, password } = route;
  const { HOME, SSH_AUTH_SOCK: agent } = process.env;
  const environment = {
    ...(HOME !== undefined && { HOME }),
    // A key with a passphrase is of use when an agent has it open.
    ...(key !== null && agent !== undefined && { SSH_AUTH_SOCK: agent }),
  };
  const ssh = {
    ...{ name: "ssh", program, args: sshArguments(route, line, limits.deadline) },
    fix: "Install the package openssh-client, then run power again.",
  };
  if (password === null) return runProgram({ ...ssh, environment }, limits);
  return withAskpass((askpass) => {
    const input = `${password()}\n`;
    return runProgram({ ...ssh, environment: { ...environment, ...askpass }, input }, limits);
  });
}

/**
 * The arguments of the one ssh a host is asked with. No secret is among them.
 *
 * The system's own configuration holds otherwise, StrictHostKeyChecking before all. A connection
 * shared with others (ControlMaster) would outlive our deadline; only the methods nova-baremetal
 * tried are tried, each once.
 *
 * @param timeout milliseconds until the connection has to stand
 */
function sshArguments(route: Route, line: string, timeout: number): readonly string[] {
  const { host, port, user, key, password } = route;
  const methods = [
    ...(key === null ? [] : ["publickey"]),
    ...(password === null ? [] : ["password", "keyboard-interactive"]),
  ];
  const options = {
    BatchMode: password === null ? "yes" : "no",
    ClearAllForwardings: "yes",
    ConnectTimeout: String(Math.max(1, Math.floor(timeout / 1000))),
    ConnectionAttempts: "1",
    ControlMaster: "no",
    ControlPath: "none",
    ForwardAgent: "no",
    ForwardX11: "no",
    // What goes wrong is logged on this level.
    LogLevel: "ERROR",
    NumberOfPasswordPrompts: "1",
    PermitLocalCommand: "no",
    PreferredAuthentications: methods.join(","),
    PubkeyAuthentication: key === null ? "no" : "yes",
    RemoteCommand: "none",
  };
  return [
    // -n: the password on our standard input is for SSH_ASKPASS, never for the other host.
    ...["-n", "-T", "-p", String(port), "-l", user],
    // IdentityFile has codes that begin with a percent sign.
    ...(key === null ? [] : ["-i", key.replaceAll("%", "%%"), "-o", "IdentitiesOnly=yes"]),
    ...Object.entries(options).flatMap(([name, value]) => ["-o", `${name}=${value}`]),
    ...["--", host, line],
  ];
}

/** What the program says on stderr when ssh wants a password again: the first one was wrong. */
const ASKED_AGAIN = "n2i: asked for the password again";

/**
 * Answers ssh's first question for a password, and nothing else: not whether a host key is right,
 * not for a key's passphrase, and not for a new password when the old one has expired. Asked
 * again, it ends ssh, so that one run costs an account one wrong password at most.
 */
const PROGRAM = `#!/bin/sh
# A question of the other host itself comes with "(user@host) " before it.
case \${1#(*@*) } in
  *yes/no* | *assphrase* | *[Nn]ew\\ * | *[Oo]ld\\ * | *[Cc]urrent[\\ \\)]* | *[Rr]etype* | *ne-time*) exit 1 ;;
  *[Pp]assword*) ;;
  *) exit 1 ;;
esac
if IFS= read -r password; then
  printf '%s\\n' "$password"
else
  echo "${ASKED_AGAIN}" >&2
  kill "$PPID"
  exit 1
fi
`;

/**
 * Gives `use` the environment by which ssh gets the password: the path of a program (0700) in a
 * folder of our own (0700), gone when `use` is done. The program reads the password from ssh's
 * standard input, a pipe, so that no file ever holds it, even if this process is killed. DISPLAY is
 * for an ssh older than 8.4, which asks no program without one.
 *
 * @throws MigrationError N2I-E400 when the program cannot be written
 * @source ssh(1), SSH_ASKPASS and SSH_ASKPASS_REQUIRE
 */
export async function withAskpass<T>(
  use: (environment: { readonly [name: string]: string }) => Promise<T>,
): Promise<T> {
  const file = { prefix: "n2i-ssh-", name: "askpass", mode: 0o700, text: PROGRAM };
  return withBriefFile({ ...file, what: "program for ssh" }, ({ path }) =>
    use({ SSH_ASKPASS: path, SSH_ASKPASS_REQUIRE: "force", DISPLAY: "none:0" }),
  );
}

/**
 * What ssh says when it does not let us in, the telling sentences first: after a key it cannot use
 * it also says `Permission denied`.
 *
 * @source OpenSSH 9.2 sshconnect.c, sshconnect2.c, authfile.c, packet.c, readpass.c
 */
const SENTENCES: readonly (readonly [RegExp, PowerVerdict, (route: Route) => string])[] = [
  [
    /REMOTE HOST IDENTIFICATION HAS CHANGED|[Hh]ost key for .* has changed|REVOKED HOST KEY/,
    "protocol-error",
    (to) =>
      `${place(to)} has another host key than ssh's known_hosts: find out why, then remove the old one with ssh-keygen -R "${known(to)}"`,
  ],
  [
    /Host key verification failed|host key is known for/,
    "protocol-error",
    (to) =>
      `ssh does not know the host key of ${place(to)}: run ssh -p ${to.port} ${to.user}@${to.host} once as this user, compare the fingerprint, and accept it`,
  ],
  [
    /no matching .* found\. Their offer/,
    "protocol-error",
    (to) =>
      `${place(to)} speaks older ciphers or keys than this ssh allows: allow them for it in ssh_config (HostKeyAlgorithms, KexAlgorithms, Ciphers)`,
  ],
  [
    /UNPROTECTED PRIVATE KEY FILE|bad permissions/,
    "incomplete",
    () => "ssh uses no key that others can read: chmod 600 the file virtual_power_host_key names",
  ],
  [
    /Load key .*: (?!Permission denied)/,
    "incomplete",
    () => "ssh cannot read the key virtual_power_host_key names, or it has a passphrase",
  ],
  [
    /no mutual signature supported/,
    "incomplete",
    (to) =>
      `this ssh signs with no algorithm ${place(to)} knows: allow ssh-rsa for it in ssh_config (PubkeyAcceptedAlgorithms)`,
  ],
  [
    /ssh_askpass: exec/,
    "incomplete",
    () =>
      "ssh may run no program in the folder for temporary files: set TMPDIR to one where it may",
  ],
  [
    /Permission denied|Too many authentication failures|No more authentication methods/,
    "wrong-password",
    refused,
  ],
  [new RegExp(ASKED_AGAIN), "wrong-password", refused],
  [/Could not resolve hostname/, "unreachable", (to) => `the name ${to.host} is not known`],
  [/Connection refused/, "unreachable", (to) => `${place(to)} refuses connections`],
  [/timed out|Timeout/, "unreachable", (to) => `${place(to)} does not answer`],
  [
    /No route to host|Network is unreachable/,
    "unreachable",
    (to) => `there is no way to ${to.host}`,
  ],
  [
    /Connection (to .* )?(closed|reset)|kex_exchange_identification|Broken pipe/,
    "unreachable",
    (to) => `${place(to)} ends the connection`,
  ],
];

/** Why a run gave no list of machines. `answered`: the remote shell had begun. */
export function failureOf(run: Run, route: Route, answered: boolean): PowerOutcome {
  if (run.stopped === "late")
    return {
      verdict: "unreachable",
      detail: answered
        ? `${place(route)} did not list its machines in time`
        : `${place(route)} did not answer in time`,
    };
  if (run.stopped === "flood")
    return { verdict: "protocol-error", detail: `${place(route)} sends more than can be a list` };
  for (const [sentence, verdict, words] of run.status === 0 ? [] : SENTENCES)
    if (sentence.test(run.stderr)) return { verdict, detail: words(route) };
  const words = answered ? "stops in the middle of its list" : "does not run our commands";
  return { verdict: "protocol-error", detail: `${place(route)} lets ssh in, but ${words}` };
}

function refused(route: Route): string {
  const { key, password } = route;
  const shown = [key === null ? [] : ["key"], password === null ? [] : ["password"]].flat();
  return `${place(route)} refuses the ${shown.join(" and the ")} of ${route.user}`;
}

function place({ host, port }: Route): string {
  return port === 22 ? host : `${host} port ${port}`;
}

function known({ host, port }: Route): string {
  return port === 22 ? host : `[${host}]:${port}`;
}
