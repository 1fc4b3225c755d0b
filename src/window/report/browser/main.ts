import { type About, type ListedMachine, STATIC_ROWS } from "../page/data.ts";
import { element, make, openMachine, unpack } from "./detail.ts";

/** `*` matches any value. */
const NO_FILTER = { text: "", verdict: "*", finding: "*", host: "*" };

/** Rows of a page of the list, and the maximum of printed rows. */
const ROWS = 50;
const PRINTED = 2_000;

/** lib/text.ts needs Node. */
const counted = (many: number): string => `${many} machine${many === 1 ? "" : "s"}`;

const machines: ListedMachine[] = [];
/** The searchable text of each machine, created for the first search. */
let texts: readonly string[] | null = null;
let verdicts: About["verdicts"] = [];
let filter: { readonly [name in keyof typeof NO_FILTER]: string | undefined } = NO_FILTER;
/** Indexes of the matching machines, in list order. */
let found: readonly number[] = [];
let page = 0;
let sort: { readonly column: number; readonly down: boolean } | null = null;

async function start(): Promise<void> {
  if (!("DecompressionStream" in globalThis)) {
    element("count").textContent =
      `This browser is too old to list all machines: these are the first ${STATIC_ROWS}.`;
    return;
  }
  const about = await unpack<About>(element("about"));
  verdicts = about.verdicts;
  for (const one of document.querySelectorAll("script.index"))
    for (const machine of await unpack<readonly ListedMachine[]>(one)) machines.push(machine);
  bindSort();
  bindFilters();
  bindPrint();
  element("save").addEventListener("click", () => save(about.run));
  addEventListener("hashchange", () => fromAddress());
  for (const id of ["filters", "pages", "print"]) element(id).hidden = false;
  search();
  fromAddress(false);
  document.documentElement.dataset.ready = "yes";
}

function draw(from: number, to: number): void {
  element("list")
    .querySelector("tbody")
    ?.replaceChildren(...found.slice(from, to).map(rowOf));
}

function rowOf(at: number): HTMLElement {
  const [id = 0, index = 0, uuid, address, instance, host, reason, _, codes] = machines[at] ?? [];
  const { verdict = "", sign = "" } = verdicts[index] ?? {};
  const name = uuid || "no uuid";
  const open = make("button", { type: "button", class: "link" }, name);
  open.addEventListener("click", () => void openMachine(at, name));
  const text = (value = "") => make("td", {}, make("bdi", {}, value));
  return make(
    "tr",
    {},
    make("td", { class: "number" }, String(id)),
    make("td", {}, make("span", { class: `verdict ${verdict}` }, `${sign} ${verdict}`)),
    make("th", { scope: "row", class: "code" }, open),
    ...[text(address), text(instance), text(host), text(reason || codes)],
  );
}

function redraw(): void {
  const from = page * ROWS;
  const to = Math.min(from + ROWS, found.length);
  draw(from, to);
  const which = found.length === 0 ? "No machine" : `${from + 1} to ${to}`;
  element("count").textContent =
    found.length === machines.length
      ? `${which} of ${counted(machines.length)}`
      : `${which} of ${counted(found.length)} that match (${machines.length} in all)`;
  drawPages();
}

function search(): void {
  found = matching();
  page = 0;
  redraw();
}

/** Indexes of matching machines. By default, those that need attention come first. */
function matching(): readonly number[] {
  const { text = "", verdict, finding, host } = filter;
  const terms = text
    .toLowerCase()
    .split(/\s+/)
    .filter((term) => term !== "");
  if (terms.length > 0)
    texts ??= machines.map(([id, _, ...rest]) =>
      [id, ...rest.slice(0, -1)].join("\n").toLowerCase(),
    );
  const kind = verdicts.findIndex((one) => one.verdict === verdict);
  const code = finding?.replace("N2I-", "") ?? "";
  const some: number[] = [];
  for (const [at, [, index, , , , ofHost, , , codes]] of machines.entries()) {
    if (verdict !== "*" && index !== kind) continue;
    if (host !== "*" && ofHost !== host) continue;
    if (finding !== "*" && !codes.split(" ").includes(code)) continue;
    if (terms.every((term) => texts?.[at]?.includes(term))) some.push(at);
  }
  const { column, down } = sort ?? { column: 1, down: false };
  return some.sort((one, other) => {
    const [left = "", right = ""] = [machines[one]?.[column], machines[other]?.[column]];
    return left === right ? one - other : (left < right ? -1 : 1) * (down ? -1 : 1);
  });
}

function drawPages(): void {
  const last = Math.max(0, Math.ceil(found.length / ROWS) - 1);
  const nav = element("pages");
  const focused = document.activeElement?.textContent;
  const go = (title: string, to: number, enabled: boolean): HTMLElement => {
    const button = make("button", { type: "button" }, title);
    if (!enabled) button.setAttribute("aria-disabled", "true");
    button.addEventListener("click", () => {
      if (!enabled) return;
      page = to;
      redraw();
    });
    return button;
  };
  const buttons = [
    go("First", 0, page > 0),
    go("Previous", page - 1, page > 0),
    make("span", {}, `Page ${page + 1} of ${last + 1}`),
    go("Next", page + 1, page < last),
    go("Last", last, page < last),
  ];
  const inside = nav.contains(document.activeElement);
  nav.replaceChildren(...buttons);
  if (inside) buttons.find((one) => one.textContent === focused)?.focus();
}

/** Column headers become sort buttons: ascending, descending, then plan order. */
function bindSort(): void {
  const heads = [...document.querySelectorAll<HTMLElement>("#list thead th")];
  for (const [column, head] of heads.entries()) {
    const button = make("button", { type: "button", class: "sort" }, head.textContent ?? "");
    button.addEventListener("click", () => {
      const same = sort?.column === column;
      sort = !same ? { column, down: false } : sort?.down ? null : { column, down: true };
      for (const other of heads) other.removeAttribute("aria-sort");
      if (sort !== null) head.setAttribute("aria-sort", sort.down ? "descending" : "ascending");
      search();
    });
    head.replaceChildren(button);
  }
}

const SELECTS = ["verdict", "finding", "host"] as const;

function bindFilters(): void {
  element("filters").addEventListener("submit", (event) => event.preventDefault());
  element("filters").addEventListener("input", () => {
    const [verdict, finding, host] = SELECTS.map(
      (id) => element<HTMLSelectElement>(`by-${id}`).value,
    );
    filter = { text: element<HTMLInputElement>("search").value, verdict, finding, host };
    search();
  });
}

/** Applies a link such as `#finding=N2I-D600`. */
function fromAddress(scroll = true): void {
  const [, name = "", value = ""] = /^#(verdict|finding)=([\w-]+)$/.exec(location.hash) ?? [];
  if (name === "") return;
  for (const id of SELECTS)
    element<HTMLSelectElement>(`by-${id}`).value = id === name ? value : "*";
  element<HTMLInputElement>("search").value = "";
  filter = { ...NO_FILTER, [name]: value };
  search();
  if (!scroll) return;
  element("filters").scrollIntoView();
  element("search").focus({ preventScroll: true });
}

/** Prints every row, up to a limit for large fleets. */
function bindPrint(): void {
  element("print").addEventListener("click", () => print());
  /** Details to close again after printing. */
  let opened: readonly HTMLDetailsElement[] = [];
  addEventListener("beforeprint", () => {
    // A browser may send the event twice.
    opened = [...opened, ...document.querySelectorAll<HTMLDetailsElement>("details:not([open])")];
    for (const one of opened) one.open = true;
    draw(0, PRINTED);
    element("count").textContent =
      found.length <= PRINTED
        ? `${found.length} of ${counted(machines.length)}`
        : `The first ${PRINTED} of ${counted(found.length)}; "Save as CSV" has all ${machines.length}.`;
  });
  addEventListener("afterprint", () => {
    for (const one of opened) one.open = false;
    opened = [];
    redraw();
  });
}

/** A spreadsheet reads these as the start of a formula. */
const FORMULA = /^[=+\-@\t\r]/;

function save(run: string): void {
  const field = (value: string | number): string => {
    const text = String(value);
    return `"${(FORMULA.test(text) ? `'${text}` : text).replaceAll('"', '""')}"`;
  };
  const rows = found.map((at) => {
    const [id, index = 0, uuid, address, instance, host, reason, instance_uuid, codes] =
      machines[at] ?? [];
    const { verdict } = verdicts[index] ?? {};
    return [id, verdict, uuid, address, instance, instance_uuid, host, codes, reason]
      .map((value) => field(value ?? ""))
      .join(",");
  });
  const titles = [
    ...["BM ID", "Verdict", "UUID", "BMC Address", "Instance", "Instance UUID", "Compute Host"],
    ...["Findings", "Reason"],
  ];
  const text = [titles.map(field).join(","), ...rows, ""].join("\r\n");
  const url = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  make("a", { href: url, download: `${run.replaceAll(/[^\w.-]/g, "_")}-machines.csv` }).click();
  URL.revokeObjectURL(url);
}

void start();
