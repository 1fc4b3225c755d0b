/** What `virsh dumpxml` says of a machine that matters here. */
interface DomainXml {
  readonly uuid: string;
  readonly name: string;
  /** As they stand there. */
  readonly macs: readonly string[];
}

/** libvirt's documents are eight deep. */
const DEEPEST = 64;
/** Network cards of one machine. */
const MOST_MACS = 256;

/**
 * The domains of documents that stand one after the other; null when it is no such text.
 *
 * Only the network cards count (/domain/devices/interface/mac), not what a machine's owner wrote
 * into its description or metadata.
 */
export function parseDomains(text: string): readonly DomainXml[] | null {
  const domains: DomainXml[] = [];
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

/** The end of a comment, a CDATA section or an instruction that begins here; null for elements. */
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

/** Where the `>` of a tag stands, outside of quotes; null when it has none. */
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
