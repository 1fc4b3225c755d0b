import { MigrationError } from "../../../lib/error.ts";
import { program } from "../../../run/files/package-root.ts";
import { type AgentAsked, runAgent } from "../../../takeover/host-agent.ts";
import { io } from "../../io.ts";
import type { HostArgs } from "../../options/host/host.ts";
import { AGENT_WORDS } from "../../options/host/leases.ts";
import { unitText } from "../../views/unit.ts";
import { note } from "../shared.ts";

export async function hostAgentCommand(
  args: HostArgs & AgentAsked & { readonly printUnit: boolean },
): Promise<void> {
  if (args.compute !== undefined)
    throw new MigrationError("N2I-E100", "host agent takes its host as --host");
  if (args.printUnit) {
    const given = new Map<string, unknown>(Object.entries(args));
    const words = AGENT_WORDS.flatMap((name) => {
      const value = given.get(name);
      if (typeof value === "boolean") return value ? [`--${name}`] : [];
      const all = value === undefined ? [] : [value].flat();
      return all.flatMap((one) => [`--${name}`, String(one)]);
    });
    const { run, tftpRoot } = args;
    const writes = args.take ? [run, tftpRoot].flatMap((path) => path ?? []) : [];
    const command = [process.execPath, program(), "host", "agent", ...words];
    io().stdout.write(unitText(args.host, command, writes));
    return;
  }
  await runAgent(args, (text) => note(args, text));
}
