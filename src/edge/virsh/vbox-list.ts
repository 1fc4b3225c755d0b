import { normaliseMac } from "../../model/mac.ts";
import { type Domain, plain } from "./domain.ts";
import type { Listed } from "./listing.ts";

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
    macs: macs.flatMap(([, mac = ""]) => normaliseMac(mac)?.replaceAll(":", "") ?? []),
  };
}
