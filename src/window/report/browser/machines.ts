import type { About, IndexColumns } from "../page/data.ts";

export interface Listed {
  readonly columns: IndexColumns;
  readonly verdicts: About["verdicts"];
}

/** The filters of the list. `*` matches any value. */
export interface Filter {
  readonly text: string;
  readonly verdict: string | undefined;
  readonly finding: string | undefined;
  readonly host: string | undefined;
}

let texts: readonly string[] | null = null;

/** The searchable text of each machine, created for the first search. */
function textsOf({ columns }: Listed): readonly string[] {
  texts ??= columns.id.map((id, at) =>
    [
      ...[id, columns.uuid[at], columns.address[at], columns.instance[at]],
      ...[columns.instance_uuid[at], columns.host[at], columns.reason[at]],
    ]
      .join("\n")
      .toLowerCase(),
  );
  return texts;
}

/** Indexes of matching machines. By default, those that need attention come first. */
export function matching(
  machines: Listed,
  { text, verdict, finding, host }: Filter,
  sort: { readonly column: number; readonly down: boolean } | null,
): readonly number[] {
  const { columns, verdicts } = machines;
  const terms = text
    .toLowerCase()
    .split(/\s+/)
    .filter((term) => term !== "");
  const searched = terms.length > 0 ? textsOf(machines) : [];
  const kind = verdicts.findIndex((one) => one.verdict === verdict);
  const code = finding?.replace("N2I-", "") ?? "";
  const found: number[] = [];
  for (let at = 0; at < columns.id.length; at += 1) {
    if (verdict !== "*" && columns.verdict[at] !== kind) continue;
    if (host !== "*" && columns.host[at] !== host) continue;
    if (finding !== "*" && !(columns.codes[at] ?? "").split(" ").includes(code)) continue;
    if (terms.every((term) => searched[at]?.includes(term))) found.push(at);
  }
  return sorted(columns, found, sort);
}

function sorted(
  columns: IndexColumns,
  found: number[],
  sort: { readonly column: number; readonly down: boolean } | null,
): readonly number[] {
  const { id, verdict, uuid, address, instance, host, reason } = columns;
  const [column = verdict] =
    sort === null ? [] : [[id, verdict, uuid, address, instance, host, reason][sort.column]];
  const down = sort?.down === true ? -1 : 1;
  return found.sort((one, other) => {
    const [left = "", right = ""] = [column[one], column[other]];
    return left === right ? one - other : (left < right ? -1 : 1) * down;
  });
}
