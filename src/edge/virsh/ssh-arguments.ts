import type { Route } from "./settings.ts";

/**
 * The arguments of the one ssh a host is asked with. No secret is among them.
 *
 * The system's own configuration holds otherwise, StrictHostKeyChecking before all. A connection
 * shared with others (ControlMaster) would outlive our deadline; only the methods nova-baremetal
 * tried are tried, each once.
 *
 * @param timeout milliseconds until the connection has to stand
 */
export function sshArguments(route: Route, line: string, timeout: number): readonly string[] {
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
