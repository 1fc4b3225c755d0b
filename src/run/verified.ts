import { counted } from "../lib/text.ts";
import type { RowVerdict } from "../model/artefact.ts";
import type { Sink } from "./sink.ts";

export interface VerifiedRows {
  readonly validated: number;
  readonly wrong: number;
}

/** Lists and counts compared rows. @param all also lists the validated ones */
export async function listVerdicts(
  rows: AsyncIterable<RowVerdict>,
  machines: number,
  { list }: Pick<Sink, "list">,
  all = false,
): Promise<VerifiedRows> {
  const counts = { validated: 0, wrong: 0 };
  const listed = async function* (): AsyncGenerator<RowVerdict> {
    for await (const row of rows) {
      counts[row.state === "validated" ? "validated" : "wrong"] += 1;
      if (row.state !== "validated" || all) yield row;
    }
  };
  const summary = () => `${counted(counts.validated, "row")} validated`;
  await list("verdicts", listed(), { title: "verify", machines, summary });
  return counts;
}
