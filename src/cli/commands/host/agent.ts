import { programCommand } from "../../../run/files/package-root.ts";
import { runAgent } from "../../../takeover/host-agent.ts";
import { io } from "../../io.ts";
import { AGENT } from "../../options/host/actions.ts";
import { type ListArgs, note } from "../shared.ts";

export async function hostAgentCommand(
  args: ListArgs & Parameters<typeof runAgent>[0] & { readonly printUnit: boolean },
): Promise<void> {
  if (args.printUnit) {
    const values = new Map<string, unknown>(Object.entries(args));
    const argv = Object.keys(AGENT).flatMap((name) => {
      const value = values.get(name);
      if (typeof value === "boolean") return value ? [`--${name}`] : [];
      const all = value === undefined ? [] : [value].flat();
      return all.flatMap((one) => [`--${name}`, String(one)]);
    });
    const { run, tftpRoot } = args;
    const writes = args.take ? [run, tftpRoot].flatMap((path) => path ?? []) : [];
    const command = [...programCommand(), "host", "agent", ...argv];
    io().stdout.write(unitText(args.host, command, writes));
    return;
  }
  await runAgent(args, (text) => note(args, text));
}

/**
 * Does not restart after a fence: start the unit when the host is readmitted.
 *
 * @param command its program and arguments
 * @param writes folders it writes to
 */
function unitText(host: string, command: readonly string[], writes: readonly string[]): string {
  return `[Unit]
Description=nova2ironic: lease of compute host ${host}
After=network-online.target
Wants=network-online.target

[Service]
Type=simple
ExecStart=${command.map(unitArgument).join(" ")}
Restart=on-failure
RestartSec=10
RestartPreventExitStatus=5 12 64
ProtectSystem=strict
${writes.length === 0 ? "" : `ReadWritePaths=${writes.map(unitArgument).join(" ")}\n`}ProtectHome=read-only
NoNewPrivileges=yes

[Install]
WantedBy=multi-user.target
`;
}

/** @source systemd.service(5), "Command lines"; systemd.syntax(7) */
function unitArgument(text: string): string {
  const escaped = text
    .replaceAll("\\", "\\\\")
    .replaceAll('"', '\\"')
    .replaceAll("%", "%%")
    .replaceAll("$", "$$$$");
  return /^[\w@%+=:,./-]+$/.test(text) ? escaped : `"${escaped}"`;
}
