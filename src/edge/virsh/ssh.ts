import { type Run, runProgram } from "../process/run.ts";
import { withAskpass } from "./askpass.ts";
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
    // What goes wrong is told on this level.
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
