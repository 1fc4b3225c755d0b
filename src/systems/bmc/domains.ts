import { normaliseMac } from "../../lib/mac.ts";

export type Domain = ReturnType<typeof domainOf>;

const LONGEST_NAME = 64;

/** Printable ASCII of a text from the other host. */
function plain(text: string): string {
  const shortened = text.slice(0, LONGEST_NAME).replaceAll(/[^\x20-\x7e]/g, "?");
  return text.length > LONGEST_NAME ? `${shortened}...` : shortened;
}

type Listed = NonNullable<ReturnType<typeof takeApart>>;

/**
 * @returns null if the command did not start. Ignores text that the login shell printed first.
 * @source virsh-ask.ts
 */
export function takeApart(output: string, mark: string) {
  const begin = `${mark} begin\n`;
  const start = output.indexOf(begin);
  if (start < 0) return null;
  /** The last marker, or null if the output is cut. */
  let end: "end" | "missing" | "failed" | null = null;
  const lists = { all: [] as string[], on: [] as string[], paused: [] as string[] };
  const [before = "", ...pieces] = output.slice(start + begin.length).split(`${mark} `);
  /** The text after each marker line. The UUID is that of an `all` line. */
  const texts: { uuid: string | null; text: string }[] = [{ uuid: null, text: before }];
  for (const piece of pieces) {
    const line = piece.indexOf("\n");
    // The output ends inside a marker line.
    if (line < 0) break;
    const [name = "", uuid = ""] = piece.slice(0, line).split(" ", 2);
    if (name === "all" || name === "on" || name === "paused") lists[name].push(uuid);
    if (name === "end" || name === "missing" || name === "failed") end = name;
    texts.push({ uuid: name === "all" ? uuid : null, text: piece.slice(line + 1) });
  }
  return { end, lists, texts };
}

/** Null if the output is malformed. A machine that was removed during the query is not included. */
export function virshDomains({ lists, texts }: Listed): readonly Domain[] | null {
  const documents = parseDomains(texts.map(({ text }) => text).join(""));
  if (documents === null) return null;
  const active = new Set(lists.on);
  const paused = new Set(lists.paused);
  return documents.map(({ uuid, name, macs }) => ({
    name: plain(name),
    power: active.has(uuid) ? "on" : "off",
    state: !active.has(uuid) ? "shut off" : paused.has(uuid) ? "paused" : "running",
    macs: bareMacs(macs),
  }));
}

/**
 * Other states are transitions.
 *
 * @source VirtualBox VBoxManageInfo.cpp machineStateToName; `list runningvms` is what is online
 */
const STATES: { readonly [state: string]: "on" | "off" } = {
  running: "on",
  paused: "on",
  gurumeditation: "on",
  livesnapshotting: "on",
  poweroff: "off",
  saved: "off",
  aborted: "off",
  "aborted-saved": "off",
};

/** Each text has `name="value"` lines. */
export function vboxDomains({ texts }: Listed): readonly Domain[] {
  return texts.filter(({ uuid }) => uuid !== null).map(({ text }) => domainOf(text));
}

function domainOf(text: string) {
  const state = /^VMState="([^"\n]{0,64})"/m.exec(text)?.[1] ?? "";
  const macs = [...text.matchAll(/^macaddress\d{1,3}="([0-9A-Fa-f]{12})"/gm)];
  return {
    /** Printable ASCII, shortened for messages. */
    name: plain(/^name="(.*)"$/m.exec(text)?.[1] ?? ""),
    power: Object.hasOwn(STATES, state) ? (STATES[state] ?? null) : null,
    /** `running`, for messages. */
    state: plain(state),
    /** As nova-baremetal compares them. */
    macs: bareMacs(macs.map(([, mac = ""]) => mac)),
  };
}

/** Bare lower-case hex. Texts that are not a MAC are skipped. */
export function bareMacs(macs: readonly string[]): readonly string[] {
  return macs.flatMap((mac) => normaliseMac(mac)?.replaceAll(":", "") ?? []);
}

/** libvirt's documents have a depth of 8. */
const DEEPEST = 64;
const MOST_MACS = 256;

/**
 * Reads MACs only from /domain/devices/interface/mac, because the owner of a machine can write into
 * its description and metadata. Null if the text is malformed.
 */
export function parseDomains(text: string) {
  const domains: { readonly uuid: string; readonly name: string; readonly macs: string[] }[] = [];
  const open: string[] = [];
  let [uuid, name, macs]: [string, string, string[]] = ["", "", []];
  for (let at = text.indexOf("<"); at >= 0; at = text.indexOf("<", at)) {
    const passed = afterNoElement(text, at);
    if (passed !== null) {
      at = passed;
      continue;
    }
    const end = endOfTag(text, at);
    if (end === null) return null;
    const tag = text.slice(at + 1, end);
    at = end + 1;
    if (tag.startsWith("/")) {
      if (open.pop() !== tag.slice(1).trim()) return null;
      if (open.length > 0) continue;
      domains.push({ uuid, name, macs });
      [uuid, name, macs] = ["", "", []];
      continue;
    }
    const element = /^[^\s/]+/.exec(tag)?.[0];
    if (element === undefined || (open.length === 0 && element !== "domain")) return null;
    const path = [...open, element].join("/");
    if (path === "domain/uuid") uuid = textAt(text, at);
    if (path === "domain/name") name = textAt(text, at);
    const mac = path === "domain/devices/interface/mac" ? addressOf(tag) : undefined;
    if (mac !== undefined && macs.length < MOST_MACS) macs.push(mac);
    if (!tag.endsWith("/")) open.push(element);
    if (open.length > DEEPEST) return null;
  }
  return open.length === 0 ? domains : null;
}

function afterNoElement(text: string, at: number): number | null {
  for (const [begin, end] of [
    ["<!--", "-->"],
    ["<![CDATA[", "]]>"],
    ["<?", "?>"],
  ] as const) {
    if (!text.startsWith(begin, at)) continue;
    const found = text.indexOf(end, at + begin.length);
    return found < 0 ? text.length : found + end.length;
  }
  return null;
}

function endOfTag(text: string, at: number): number | null {
  let quote = "";
  for (let here = at + 1; here < text.length; here++) {
    const character = text.charAt(here);
    if (quote !== "") {
      if (character === quote) quote = "";
    } else if (character === "'" || character === '"') quote = character;
    else if (character === ">") return here;
    else if (character === "<") return null;
  }
  return null;
}

function textAt(text: string, at: number): string {
  const end = text.indexOf("<", at);
  const raw = text.slice(at, end < 0 ? at : end);
  return raw.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&").trim();
}

function addressOf(tag: string): string | undefined {
  return /\saddress=(?:'([^']*)'|"([^"]*)")/
    .exec(tag)
    ?.slice(1)
    .find((one) => one !== undefined);
}
