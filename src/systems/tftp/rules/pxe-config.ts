import { isUuid } from "../../../lib/uuid.ts";
import type { PxeFacts, PxeLabel } from "../../../model/boot.ts";

/** The pxelinux settings that nova-baremetal and Ironic write. */
type PxeConfig = ReturnType<typeof parsePxe>;

const INITRD = /^initrd=(.*)$/;
const ROOT = /^root=(.*)$/;

/**
 * Keywords in any case, the last `default` and the first of equal labels apply, as in pxelinux.
 *
 * @source facts/nova-bm.md 3.5; facts/ironic.md 2.3, 2.5
 */
export function parsePxe(text: string) {
  let chosen: string | null = null;
  const labels: { -readonly [field in keyof PxeLabel]: PxeLabel[field] }[] = [];
  for (const line of text.split("\n")) {
    const [keyword = "", ...tokens] = tokensOf(line);
    const rest = tokens.join(" ");
    const label = labels.at(-1);
    switch (keyword.toLowerCase()) {
      case "default":
        chosen = rest;
        break;
      case "label":
        labels.push({ label: rest, kernel: null, ramdisk: null, root: null, args: "" });
        break;
      case "kernel":
      case "linux":
        if (label !== undefined) label.kernel = rest;
        break;
      case "initrd":
        if (label !== undefined) label.ramdisk = rest;
        break;
      case "append":
        if (label !== undefined) Object.assign(label, appended(tokens, label.ramdisk));
        break;
    }
  }
  return { default: chosen, labels };
}

/** Placeholders of the root filesystem in templates, with a form without blanks. */
export const PLACEHOLDERS = [
  ["{{ ROOT }}", "{{ROOT}}"],
  ["(( ROOT ))", "((ROOT))"],
  [`$${"{ROOT}"}`, `$${"{ROOT}"}`],
] as const;

/** Runs in linear time on hostile files. */
function tokensOf(line: string): readonly string[] {
  const resolved = PLACEHOLDERS.reduce((text, [form, value]) => text.replaceAll(form, value), line);
  return resolved.split(/\s/).filter((token) => token !== "");
}

/** The last of repeated names applies, as in the kernel. */
function appended(tokens: readonly string[], initrd: string | null) {
  const last = (form: RegExp): string | null =>
    tokens.map((token) => form.exec(token)?.[1]).findLast((found) => found !== undefined) ?? null;
  const args = tokens.filter((token) => !INITRD.test(token) && !ROOT.test(token)).join(" ");
  return { ramdisk: last(INITRD) ?? initrd, root: last(ROOT), args };
}

export function labelOf({ labels }: PxeConfig, name: string): PxeLabel | null {
  return labels.find(({ label }) => label === name) ?? null;
}

/** The facts without the one-time deploy key. */
export function factsOf(text: string): PxeFacts {
  const config = parsePxe(text);
  const deploy = labelOf(config, "deploy");
  return {
    default: config.default,
    boot: labelOf(config, "boot"),
    deploy: deploy && { kernel: deploy.kernel, ramdisk: deploy.ramdisk },
  };
}

/** The uuid in `UUID=...`, lower case. Grizzly's helper wrote `UUID=None` for a missing device. */
export function uuidOf(root: string | null): string | null {
  const [, text = ""] = /^UUID=(.*)$/.exec(root ?? "") ?? [];
  return isUuid(text) ? text.toLowerCase() : null;
}

/** Null for an unsafe path. */
function segments(path: string): readonly string[] | null {
  const parts = path.split("/").filter((part) => part !== "" && part !== ".");
  return parts.includes("..") || parts.length === 0 || /[^\x20-\x7e]/.test(path) ? null : parts;
}

/**
 * The path below the root, because the tree may be a copy. Null if it points outside the tree.
 *
 * @param root the host's tftp_root, or nova's default
 */
export function below(path: string, root: string): string | null {
  const parts = segments(path);
  if (parts === null) return null;
  if (!path.startsWith("/")) return parts.join("/");
  const above = segments(root) ?? [];
  if (parts.length <= above.length || above.some((part, at) => part !== parts[at])) return null;
  return parts.slice(above.length).join("/");
}

/** For an uncertain root: FOLDER/FILE if the folder is the expected one. */
export function inFolder(path: string, root: string, folder: string): string | null {
  const found = below(path, root);
  if (found !== null) return found;
  const [last = "", parent = ""] = (segments(path) ?? []).toReversed();
  return parent.toLowerCase() === folder.toLowerCase() && last !== "" ? `${parent}/${last}` : null;
}

/** pxelinux requests it first: `pxelinux.cfg/01-52-54-00-00-00-01`. @param mac normalised */
export function linkOf(mac: string): string {
  return `pxelinux.cfg/01-${mac.replaceAll(":", "-")}`;
}

/** All paths of a machine to inspect. */
export function pathsIn(folder: string, names: readonly string[], macs: readonly string[]) {
  const files = names.map((name) => `${folder}/${name}`);
  return [folder, ...files, "pxelinux.cfg", ...macs.map(linkOf)];
}

/** A link's target below the root. Relative targets start in pxelinux.cfg. */
export function linkTarget(target: string, root: string, folder: string): string | null {
  if (target.startsWith("/")) return inFolder(target, root, folder);
  return target.startsWith("../")
    ? below(target.slice(3), root)
    : below(`pxelinux.cfg/${target}`, root);
}
