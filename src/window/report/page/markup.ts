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
  const kind = (of: Cell["of"]): string => (of === undefined ? "" : ` class="${of}"`);
  const head = titles.map((title, at) => {
    const of = rows[0]?.[at]?.of === "number" ? "number" : undefined;
    return `<th scope="col"${kind(of)}>${escaped(title)}</th>`;
  });
  const body = rows.map((cells) => {
    // On a narrow screen, cells are stacked, each with its title.
    const marked = cells.map(({ markup, of }, at) =>
      at === 0
        ? `<th scope="row"${kind(of)}>${markup}</th>`
        : `<td${kind(of)} data-title="${escaped(titles[at] ?? "")}">${markup}</td>`,
    );
    return `<tr>${marked.join("")}</tr>`;
  });
  return `<div class="wide stack" role="region" tabindex="0" aria-label="Table: ${escaped(caption)}"><table>
<thead><tr>${head.join("")}</tr></thead>
<tbody>
${body.join("\n")}
</tbody></table></div>`;
}

export function section(title: string, body: string): string {
  const id = title.toLowerCase().replaceAll(" ", "-");
  return `<section aria-labelledby="${id}">\n<h2 id="${id}">${escaped(title)}</h2>\n${body}\n</section>`;
}
