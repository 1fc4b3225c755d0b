import { normaliseMac } from "../../model/mac.ts";
import { parseDomains } from "./domain-xml.ts";
/** A virtual machine as its host tells of it. */
export interface Domain {
  /** Its name there, of printable ASCII and cut; for people. */
  readonly name: string;
  readonly power: "on" | "off" | null;
  /** `running`; for people. */
  readonly state: string;
  /** Bare hex, lower case: as nova-baremetal compares them. */
  readonly macs: readonly string[];
}

const LONGEST_NAME = 64;

/** A text of the other side as a sentence may carry it. */
function plain(text: string): string {
  const kept = text.slice(0, LONGEST_NAME).replaceAll(/[^\x20-\x7e]/g, "?");
  return text.length > LONGEST_NAME ? `${kept}...` : kept;
}

/** What the remote line printed, taken apart at our own lines. */
interface Listed {
  /** Whether it came to its end. */
  readonly end: "end" | "missing" | "failed" | null;
  readonly lists: { readonly [name in "all" | "on" | "paused"]: readonly string[] };
  /** What stands after each of our lines; the UUID is that of an `all` line. */
  readonly texts: readonly { readonly uuid: string | null; readonly text: string }[];
}

/**
 * Null when the line did not begin to run. What a login shell prints before is not looked at.
 *
 * @source remote.ts
 */
export function takeApart(output: string, mark: string): Listed | null {
  const begin = `${mark} begin\n`;
  const start = output.indexOf(begin);
  if (start < 0) return null;
  let end: Listed["end"] = null;
  const lists = { all: [] as string[], on: [] as string[], paused: [] as string[] };
  const [before = "", ...pieces] = output.slice(start + begin.length).split(`${mark} `);
  const texts: { uuid: string | null; text: string }[] = [{ uuid: null, text: before }];
  for (const piece of pieces) {
    const line = piece.indexOf("\n");
    // Cut off in the middle of a line of ours.
    if (line < 0) break;
    const [name = "", uuid = ""] = piece.slice(0, line).split(" ", 2);
    if (name === "all" || name === "on" || name === "paused") lists[name].push(uuid);
    if (name === "end" || name === "missing" || name === "failed") end = name;
    texts.push({ uuid: name === "all" ? uuid : null, text: piece.slice(line + 1) });
  }
  return { end, lists, texts };
}

/**
 * The machines of virsh's answer; null when it makes no sense. One that was removed while it was
 * asked has no document, and is left out.
 */
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
 * What each state means; others are moments between the two.
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

/** The machines of VBoxManage's answer, each a text of `name="value"` lines. */
export function vboxDomains({ texts }: Listed): readonly Domain[] {
  return texts.filter(({ uuid }) => uuid !== null).map(({ text }) => domainOf(text));
}

function domainOf(text: string): Domain {
  const state = /^VMState="([^"\n]{0,64})"/m.exec(text)?.[1] ?? "";
  const macs = [...text.matchAll(/^macaddress\d{1,3}="([0-9A-Fa-f]{12})"/gm)];
  return {
    name: plain(/^name="(.*)"$/m.exec(text)?.[1] ?? ""),
    power: Object.hasOwn(STATES, state) ? (STATES[state] ?? null) : null,
    state: plain(state),
    macs: bareMacs(macs.map(([, mac = ""]) => mac)),
  };
}

/** Bare hex, lower case; texts that are no MAC are left out. */
export function bareMacs(macs: readonly string[]): readonly string[] {
  return macs.flatMap((mac) => normaliseMac(mac)?.replaceAll(":", "") ?? []);
}
