import type { PlannedMachine } from "../../model/plan.ts";
import { loadMappings } from "../../stages/documents.ts";
import { nextCommand } from "../../stages/next.ts";
import { note, say, type Voice } from "./shared.ts";

/** The options of a `boot` that is to be run again. */
interface Again {
  readonly run: string;
  readonly tftpRoot: string;
}

/**
 * Where take-over leaves a file that deploys, no staging before it lasts: nothing a tree holds tells
 * whether it was already, so that it is always said.
 *
 * @source facts/systems.md D4; facts/ironic.md 2.5
 */
export async function noteTakeOver(
  release: string,
  args: Again & Pick<Voice, "json">,
): Promise<void> {
  const found = (await loadMappings()).releases.find(({ doc }) => doc.release === release);
  if (found?.doc.boot !== "deploy") return;
  const again = nextCommand("boot", args);
  const verify = nextCommand("verify", { run: args.run }, { ironicDb: "DB", takeover: true });
  note(
    args,
    `Notice: each take-over by Ironic ${release} writes these files anew, and leaves them deploying. Once ${verify} ends with 0, and before a machine reboots, run ${again}`,
  );
}

/** Until a take-over writes Neutron's DHCP options anew, machines ask the old host for these files. */
export async function sayDhcp(
  plan: AsyncIterable<readonly PlannedMachine[]>,
  args: Voice,
): Promise<void> {
  const servers = new Map<string, string>();
  for await (const batch of plan)
    for (const { boot, service_host } of batch)
      if (boot?.dhcp)
        servers.set(service_host ?? "?", `${boot.dhcp.server ?? "its my_ip"} (${boot.dhcp.file})`);
  const old = [...servers].map(([host, server]) => `${host}: ${server}`).join(", ");
  if (old !== "")
    say(
      args,
      `DHCP leads machines to their old host until Ironic takes them over; keep its TFTP service: ${old}`,
    );
}
