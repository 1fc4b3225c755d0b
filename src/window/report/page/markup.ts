import { visible } from "../../../lib/table/text.ts";

export function cell(value: string | number): Cell {
  return typeof value === "number"
    ? { markup: String(value), of: "number" }
    : { markup: isolated(value) };
}

const HTML: { readonly [character: string]: string } = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Escapes a value that may come from a database, for text or an attribute. */
export function escaped(value: string | number): string {
  return visible(String(value)).replace(/[&<>"']/g, (character) => HTML[character] ?? character);
}

/** A value with its own reading direction. */
export function isolated(value: string): string {
  return `<bdi>${escaped(value)}</bdi>`;
}

/** A cell of a table, its content as markup. */
export interface Cell {
  readonly markup: string;
  readonly of?: "number" | "code";
}

export function code(value: string): Cell {
  return { markup: escaped(value), of: "code" };
}

/** A table that scrolls sideways by keyboard. The first cell of a row is its header. */
export function table(
  caption: string,
  titles: readonly string[],
  rows: readonly (readonly Cell[])[],
): string {
  const head = titles
    .map((title, at) => {
      const kind = rows[0]?.[at]?.of === "number" ? ' class="number"' : "";
      return `<th scope="col"${kind}>${escaped(title)}</th>`;
    })
    .join("");
  const body = rows
    .map((cells) => `<tr>${cells.map((one, at) => cellMarkup(one, at, titles)).join("")}</tr>`)
    .join("\n");
  return `<div class="wide stack" role="region" tabindex="0" aria-label="Table: ${escaped(caption)}"><table>
<thead><tr>${head}</tr></thead>
<tbody>
${body}
</tbody></table></div>`;
}

/** On a narrow screen, cells are stacked, each with its title. */
function cellMarkup({ markup, of }: Cell, at: number, titles: readonly string[]): string {
  const kind = of === undefined ? "" : ` class="${of}"`;
  return at === 0
    ? `<th scope="row"${kind}>${markup}</th>`
    : `<td${kind} data-title="${escaped(titles[at] ?? "")}">${markup}</td>`;
}

export function section(title: string, body: string): string {
  const id = title.toLowerCase().replaceAll(" ", "-");
  return `<section aria-labelledby="${id}">\n<h2 id="${id}">${escaped(title)}</h2>\n${body}\n</section>`;
}
