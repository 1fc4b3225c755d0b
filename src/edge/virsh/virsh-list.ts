import { normaliseMac } from "../../model/mac.ts";
import { type Domain, plain } from "./domain.ts";
import { parseDomains } from "./domain-xml.ts";
import type { Listed } from "./listing.ts";

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
    macs: macs.flatMap((mac) => normaliseMac(mac)?.replaceAll(":", "") ?? []),
  }));
}
