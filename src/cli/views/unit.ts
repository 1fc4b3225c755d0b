/**
 * A unit of systemd that keeps a host's agent running. Once fenced it is not started again: whoever lets the
 * host come back starts it.
 *
 * @param command its program and words
 * @param writes folders it writes to
 */
export function unitText(
  host: string,
  command: readonly string[],
  writes: readonly string[],
): string {
  return `[Unit]
Description=nova2ironic: lease of compute host ${host}
After=network-online.target
Wants=network-online.target

[Service]
Type=simple
ExecStart=${command.map(unitWord).join(" ")}
Restart=on-failure
RestartSec=10
RestartPreventExitStatus=5 12 64
ProtectSystem=strict
${writes.length === 0 ? "" : `ReadWritePaths=${writes.map(unitWord).join(" ")}\n`}ProtectHome=read-only
NoNewPrivileges=yes

[Install]
WantedBy=multi-user.target
`;
}

/** As systemd reads a word of a command line. @source systemd.service(5), "Command lines"; systemd.syntax(7) */
function unitWord(word: string): string {
  const escaped = word
    .replaceAll("\\", "\\\\")
    .replaceAll('"', '\\"')
    .replaceAll("%", "%%")
    .replaceAll("$", "$$$$");
  return /^[\w@%+=:,./-]+$/.test(word) ? escaped : `"${escaped}"`;
}
