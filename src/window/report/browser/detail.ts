import { DETAILS, type Detail, type DetailBlock } from "../page/data.ts";
import { element, make, unpack } from "./dom.ts";

/** Cached blocks, because the operator often opens neighboring machines. */
const opened = new Map<number, Promise<DetailBlock>>();

/** Shows a machine with its findings, and its records with the origin of every value. */
export async function openMachine(at: number, uuid: string): Promise<void> {
  const number = Math.floor(at / DETAILS);
  const block = opened.get(number) ?? unpack<DetailBlock>(element(`details-${number}`));
  opened.set(number, block);
  const { machines, origins } = await block;
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
