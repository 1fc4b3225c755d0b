import { wayOf } from "../../core/power/questions.ts";
import { hostOf } from "../../core/transform/driver.ts";
import { compileSite } from "../../core/transform/site.ts";
import { isLive } from "../../core/transform/vif.ts";
import { normaliseMac } from "../../model/mac.ts";
import type { HostConfig, Machine } from "../../model/machine.ts";
import type { Site } from "../../model/mapping.ts";
import type { PowerQuestion, PowerVerdict } from "../../model/power.ts";
import type { Seal } from "../../model/secret.ts";
import type { SnapshotLine } from "./run.ts";

/** A machine behind a virtualisation host. */
export interface Guest {
  readonly bm_node_id: number;
  readonly macs: readonly string[];
}

/** What is not asked over IPMI, gathered while the questions are given out. */
export interface Aside {
  readonly guests: Map<HostConfig, Guest[]>;
  readonly unasked: {
    readonly id: number;
    readonly address: string;
    readonly verdict: PowerVerdict;
    readonly detail: string;
  }[];
}

/**
 * The questions a snapshot asks of BMCs, one for each BMC and credential, streaming. Machines that
 * share a BMC are held back until the end and asked about once.
 *
 * @param wanted whether this machine is to be asked now
 */
export async function* questionsOf(
  lines: AsyncIterable<readonly SnapshotLine[]>,
  hosts: readonly HostConfig[],
  site: Site,
  seal: Seal,
  wanted: (id: number) => boolean,
  aside: Aside,
): AsyncGenerator<PowerQuestion> {
  const decisions = compileSite(site);
  const shared = new Map<string, { readonly question: PowerQuestion; readonly ids: number[] }>();
  for await (const batch of lines)
    for (const line of batch) {
      if (!isAsked(line, decisions) || !wanted(line.node.id)) continue;
      const decided = decisions.of(line);
      const host = hostOf(line, hosts);
      const named = decided.set.power_manager;
      const way = wayOf(line, host, typeof named === "string" ? named : undefined);
      const { id, pm_address, pm_user, pm_password } = line.node;
      if (way.way === "none") {
        const { verdict, detail } = way;
        aside.unasked.push({ id, address: pm_address ?? "", verdict, detail });
      } else if (way.way === "virtual") {
        const guests = aside.guests.get(way.host) ?? [];
        guests.push({ bm_node_id: id, macs: macsOf(line) });
        aside.guests.set(way.host, guests);
      } else {
        const question: PowerQuestion = {
          bm_node_ids: [id],
          address: pm_address ?? "",
          user: pm_user ?? "",
          password: () => (pm_password === null ? "" : seal.open(pm_password)),
        };
        if (line.rivals.pm_address.length === 0) {
          yield question;
          continue;
        }
        const key = JSON.stringify([pm_address?.toLowerCase(), pm_user, question.password()]);
        const known = shared.get(key);
        if (known === undefined) shared.set(key, { question, ids: [id] });
        else known.ids.push(id);
      }
    }
  for (const { question, ids } of shared.values()) yield { ...question, bm_node_ids: ids };
}

/** Whether a line is a machine that is there, and that the site document does not leave out. */
export function isAsked(
  line: SnapshotLine,
  decisions: ReturnType<typeof compileSite>,
): line is Exclude<SnapshotLine, { orphan: unknown }> {
  return !("orphan" in line) && line.node.deleted !== true && decisions.of(line).skip === null;
}

function macsOf({ interfaces }: Machine): readonly string[] {
  return interfaces
    .filter(isLive)
    .map(({ address }) => normaliseMac(address ?? ""))
    .filter((mac): mac is string => mac !== null);
}
