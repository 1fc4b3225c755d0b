import { DETAILS, type Detail, type DetailBlock } from "../page/data.ts";

/** Shows a machine with its findings, and its records with the origin of every value. */
export async function openMachine(at: number, uuid: string): Promise<void> {
  const block = element(`details-${Math.floor(at / DETAILS)}`);
  const { machines, origins } = await unpack<DetailBlock>(block);
  const detail = machines[at % DETAILS];
  if (detail === undefined) return;
  const dialog = element<HTMLDialogElement>("machine");
  element("machine-title").textContent = `Machine ${uuid}`;
  element("detail").replaceChildren(...contentOf(detail, origins));
  element("close").onclick = () => dialog.close();
  dialog.showModal();
  dialog.scrollTop = 0;
}

function contentOf(detail: Detail, origins: readonly string[]): readonly HTMLElement[] {
  const found = detail.found.map(([code, severity, place, message, accepted]) =>
    row(
      make("th", { scope: "row", class: "code" }, code),
      make("td", {}, make("span", { class: severity }, severity)),
      make("td", { class: "code" }, place),
      make("td", {}, accepted === "" ? message : `${message} (accepted: ${accepted})`),
    ),
  );
  const records = detail.records.flatMap(([title, lines, hidden]) => [
    make("h3", {}, title),
    table(
      title,
      ["", "Field", "Value", "From"],
      lines.map(([line, origin]) => lineRow(line, origins[origin])),
    ),
    ...(hidden > 0
      ? [make("p", { class: "aside" }, `Fields left NULL that are not shown: ${hidden}.`)]
      : []),
  ]);
  return [
    make("p", {}, detail.title),
    ...(found.length === 0
      ? [make("p", {}, "Nothing was found of it.")]
      : [
          make("h3", {}, "Findings"),
          table("Findings", ["Code", "Severity", "Place", "What"], found),
        ]),
    ...(records.length === 0 ? [make("p", {}, "Nothing of it is written.")] : records),
  ];
}

const SIGNS: { readonly [sign: string]: string } = { "+": "planned", "-": "there now" };

function lineRow(line: string, origin: string | undefined): HTMLElement {
  const sign = line.slice(0, 1);
  const split = line.indexOf(" = ");
  return row(
    make("td", { class: "code sign" }, make("span", { title: SIGNS[sign] ?? "" }, sign)),
    make("th", { scope: "row", class: "code" }, line.slice(1, split)),
    make(
      "td",
      { class: sign === "-" ? "code gone" : "code new" },
      make("bdi", {}, line.slice(split + 3)),
    ),
    make("td", {}, origin ?? ""),
  );
}

function row(...cells: readonly HTMLElement[]): HTMLElement {
  return make("tr", {}, ...cells);
}

function table(
  caption: string,
  titles: readonly string[],
  rows: readonly HTMLElement[],
): HTMLElement {
  const heads = titles.map((title) =>
    title === "" ? make("td") : make("th", { scope: "col" }, title),
  );
  return make(
    "div",
    { class: "wide", role: "region", tabindex: "0", "aria-label": caption },
    make("table", { class: "diff" }, make("thead", {}, row(...heads)), make("tbody", {}, ...rows)),
  );
}

export function element<T extends HTMLElement = HTMLElement>(id: string): T {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`the page has no ${id}`);
  return found as T; // as in the page
}

/** A new element. Its content is inserted as text, so markup in it is harmless. */
export function make<K extends keyof HTMLElementTagNameMap>(
  name: K,
  attributes: { readonly [name: string]: string } = {},
  ...content: readonly (Node | string)[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value);
  made.append(...content);
  return made;
}

/** Unpacks data of the page. The report created it, so its type is trusted. */
export async function unpack<T>(island: Element): Promise<T> {
  const packed = atob(island.textContent ?? "");
  const bytes = new Uint8Array(packed.length);
  for (let at = 0; at < packed.length; at += 1) bytes[at] = packed.charCodeAt(at);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text()) as T;
}
