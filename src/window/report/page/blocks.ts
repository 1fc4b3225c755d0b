import { gzipSync } from "node:zlib";
import { visible } from "../../../lib/table/text.ts";
import { diffOf } from "../../../migrate/plan/rules/diff.ts";
import type { Origins, PlannedMachine, Verdict } from "../../../model/plan.ts";
import type { Reported, ReportMachine } from "../rules/facts.ts";
import { DETAILS, type Detail, type DetailBlock, type IndexColumns } from "./data.ts";

/** Machines per block of the index. */
const INDEXED = 4_000;

/** Verdicts in the order of the page: those that need attention first. */
export const VERDICTS = [
  ...(["blocked", "conflict", "drift", "create", "unchanged", "skipped"] as const),
] as const satisfies readonly Verdict[];

/** Data as base64, which contains no markup. */
export function island(about: string, value: unknown): string {
  const packed = gzipSync(JSON.stringify(value)).toString("base64");
  return `<script type="text/plain" ${about}>${packed}</script>\n`;
}

/** Packs machines in a stream, with one block of each kind in memory. */
export async function* packed(
  machines: AsyncIterable<readonly Reported[]>,
  origins: Origins,
): AsyncGenerator<string> {
  let [rows, details, block]: [ReportMachine[], Detail[], number] = [[], [], 0];
  let known = new Map<string, number>();
  const detailsMarkup = (): string => {
    const value: DetailBlock = { origins: [...known.keys()], machines: details };
    const markup = island(`id="details-${block}"`, value);
    [details, known, block] = [[], new Map(), block + 1];
    return markup;
  };
  for await (const batch of machines)
    for (const { machine, planned } of batch) {
      rows.push(machine);
      details.push(detailOf(planned, origins, known));
      if (rows.length === INDEXED) yield island('class="index"', columnsOf(rows.splice(0)));
      if (details.length === DETAILS) yield detailsMarkup();
    }
  if (rows.length > 0) yield island('class="index"', columnsOf(rows));
  if (details.length > 0) yield detailsMarkup();
}

function columnsOf(rows: readonly ReportMachine[]): IndexColumns {
  const column = (of: (row: ReportMachine) => string | null): readonly string[] =>
    rows.map((row) => visible(of(row) ?? ""));
  return {
    id: rows.map((row) => row.bm_node_id),
    uuid: column((row) => row.uuid),
    verdict: rows.map((row) => VERDICTS.indexOf(row.verdict)),
    host: column((row) => row.host),
    address: column((row) => row.address),
    instance: column((row) => row.instance),
    instance_uuid: column((row) => row.instance_uuid),
    codes: column((row) => row.codes.map((code) => code.slice("N2I-".length)).join(" ")),
    reason: column((row) => row.reason),
  };
}

/** @param known origins of the block with their indexes, to which new ones are added */
function detailOf(machine: PlannedMachine, origins: Origins, known: Map<string, number>): Detail {
  const { bm_node_id, verdict, state, findings, records } = machine;
  const indexOfOrigin = (origin: string | null): number => {
    if (origin === null) return -1;
    const place = known.get(origin) ?? known.size;
    known.set(origin, place);
    return place;
  };
  return {
    title: `bm_nodes.id=${bm_node_id}: ${verdict}, state ${state.row} -> ${state.outcome}`,
    found: findings.map(({ code, severity, place, message, accepted }) => [
      ...([code, severity, visible(place), visible(message), visible(accepted ?? "")] as const),
    ]),
    records: records.map((record) => {
      const { title, lines, hidden } = diffOf(record, origins, machine, false);
      return [
        visible(title),
        lines.map(
          ({ sign, text, origin }) => [visible(`${sign}${text}`), indexOfOrigin(origin)] as const,
        ),
        hidden,
      ];
    }),
  };
}
