import { type About, type ListedMachine, STATIC_ROWS } from "../page/data.ts";
import { element, make, openMachine, unpack } from "./detail.ts";

/** `*` matches any value. */
const NO_FILTER = { text: "", verdict: "*", finding: "*", host: "*" };

/** Rows of a page of the list, and the maximum of printed rows. */
const ROWS = 50;
const PRINTED = 2_000;

/** lib/text.ts needs Node. */
const counted = (machines: number): string => `${machines} machine${machines === 1 ? "" : "s"}`;

interface State {
  readonly machines: readonly ListedMachine[];
  readonly verdicts: About["verdicts"];
  filter: { readonly [name in keyof typeof NO_FILTER]: string | undefined };
  /** Indexes of the matching machines, in list order. */
  found: readonly number[];
  page: number;
  sort: { readonly column: number; readonly down: boolean } | null;
}

async function start(): Promise<void> {
  const status = element("count");
  if (!("DecompressionStream" in globalThis)) {
    status.textContent = `This browser is too old to list all machines: these are the first ${STATIC_ROWS}.`;
    return;
  }
  const about = await unpack<About>(element("about"));
  const machines: ListedMachine[] = [];
  for (const one of document.querySelectorAll("script.index"))
    for (const machine of await unpack<readonly ListedMachine[]>(one)) machines.push(machine);
  const { run, verdicts } = about;
  const state: State = { machines, verdicts, filter: NO_FILTER, found: [], page: 0, sort: null };
  const list = listOf(state);
  bindFilters(state, list);
  bindPrint(state, list);
  element("save").addEventListener("click", () => save(run, state));
  addEventListener("hashchange", () => fromAddress(state, list));
  for (const id of ["filters", "pages", "print"]) element(id).hidden = false;
  list.search();
  fromAddress(state, list, false);
  document.documentElement.dataset.ready = "yes";
}

type List = ReturnType<typeof listOf>;

function listOf(state: State) {
  const { machines, verdicts } = state;
  const body = element("list").querySelector("tbody") ?? make("tbody");
  const draw = (from: number, to: number): void => {
    body.replaceChildren(
      ...state.found.slice(from, to).map((at) => {
        const [id = 0, index = 0, uuid, address, instance, host, reason, _, codes] =
          machines[at] ?? [];
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
      }),
    );
  };
  const redraw = (): void => {
    const from = state.page * ROWS;
    const to = Math.min(from + ROWS, state.found.length);
    draw(from, to);
    const all = machines.length;
    const found = state.found.length;
    const which = found === 0 ? "No machine" : `${from + 1} to ${to}`;
    element("count").textContent =
      found === all
        ? `${which} of ${counted(all)}`
        : `${which} of ${counted(found)} that match (${all} in all)`;
    drawPages(state, redraw);
  };
  const search = (): void => {
    state.found = matching(state);
    state.page = 0;
    redraw();
  };
  bindSort(state, search);
  return { draw, redraw, search };
}

let texts: readonly string[] | null = null;

/** The searchable text of each machine, created for the first search. */
function textsOf(machines: readonly ListedMachine[]): readonly string[] {
  texts ??= machines.map(([id, _, ...rest]) => [id, ...rest.slice(0, -1)].join("\n").toLowerCase());
  return texts;
}

/** Indexes of matching machines. By default, those that need attention come first. */
function matching({ machines, verdicts, filter, sort }: State): readonly number[] {
  const { text = "", verdict, finding, host } = filter;
  const terms = text
    .toLowerCase()
    .split(/\s+/)
    .filter((term) => term !== "");
  const searched = terms.length > 0 ? textsOf(machines) : [];
  const kind = verdicts.findIndex((one) => one.verdict === verdict);
  const code = finding?.replace("N2I-", "") ?? "";
  const found: number[] = [];
  for (const [at, [, index, , , , ofHost, , , codes]] of machines.entries()) {
    if (verdict !== "*" && index !== kind) continue;
    if (host !== "*" && ofHost !== host) continue;
    if (finding !== "*" && !codes.split(" ").includes(code)) continue;
    if (terms.every((term) => searched[at]?.includes(term))) found.push(at);
  }
  const { column, down } = sort ?? { column: 1, down: false };
  return found.sort((one, other) => {
    const [left = "", right = ""] = [machines[one]?.[column], machines[other]?.[column]];
    return left === right ? one - other : (left < right ? -1 : 1) * (down ? -1 : 1);
  });
}

function drawPages(state: State, redraw: () => void): void {
  const last = Math.max(0, Math.ceil(state.found.length / ROWS) - 1);
  const nav = element("pages");
  const focused = document.activeElement?.textContent;
  const go = (title: string, to: number, enabled: boolean): HTMLElement => {
    const button = make("button", { type: "button" }, title);
    if (!enabled) button.setAttribute("aria-disabled", "true");
    button.addEventListener("click", () => {
      if (!enabled) return;
      state.page = to;
      redraw();
    });
    return button;
  };
  const { page } = state;
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
function bindSort(state: State, search: () => void): void {
  const heads = [...document.querySelectorAll<HTMLElement>("#list thead th")];
  for (const [column, head] of heads.entries()) {
    const button = make("button", { type: "button", class: "sort" }, head.textContent ?? "");
    button.addEventListener("click", () => {
      const { sort } = state;
      const same = sort?.column === column;
      state.sort = !same ? { column, down: false } : sort.down ? null : { column, down: true };
      for (const other of heads) other.removeAttribute("aria-sort");
      if (state.sort !== null)
        head.setAttribute("aria-sort", state.sort.down ? "descending" : "ascending");
      search();
    });
    head.replaceChildren(button);
  }
}

const SELECTS = ["verdict", "finding", "host"] as const;

function bindFilters(state: State, list: List): void {
  element("filters").addEventListener("submit", (event) => event.preventDefault());
  element("filters").addEventListener("input", () => {
    const [verdict, finding, host] = SELECTS.map(
      (id) => element<HTMLSelectElement>(`by-${id}`).value,
    );
    state.filter = { text: element<HTMLInputElement>("search").value, verdict, finding, host };
    list.search();
  });
}

/** Applies a link such as `#finding=N2I-D600`. */
function fromAddress(state: State, list: List, scroll = true): void {
  const [, name = "", value = ""] = /^#(verdict|finding)=([\w-]+)$/.exec(location.hash) ?? [];
  if (name === "") return;
  for (const id of SELECTS)
    element<HTMLSelectElement>(`by-${id}`).value = id === name ? value : "*";
  element<HTMLInputElement>("search").value = "";
  state.filter = { ...NO_FILTER, [name]: value };
  list.search();
  if (!scroll) return;
  element("filters").scrollIntoView();
  element("search").focus({ preventScroll: true });
}

/** Prints every row, up to a limit for large fleets. */
function bindPrint(state: State, list: List): void {
  element("print").addEventListener("click", () => print());
  /** Details to close again after printing. */
  let opened: readonly HTMLDetailsElement[] = [];
  addEventListener("beforeprint", () => {
    // A browser may send the event twice.
    opened = [...opened, ...document.querySelectorAll<HTMLDetailsElement>("details:not([open])")];
    for (const one of opened) one.open = true;
    list.draw(0, PRINTED);
    const found = state.found.length;
    element("count").textContent =
      found <= PRINTED
        ? `${found} of ${counted(state.machines.length)}`
        : `The first ${PRINTED} of ${counted(found)}; "Save as CSV" has all ${state.machines.length}.`;
  });
  addEventListener("afterprint", () => {
    for (const one of opened) one.open = false;
    opened = [];
    list.redraw();
  });
}

/** A spreadsheet reads these as the start of a formula. */
const FORMULA = /^[=+\-@\t\r]/;

function save(run: string, { machines, verdicts, found }: State): void {
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
