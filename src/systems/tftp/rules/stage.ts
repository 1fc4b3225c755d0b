import type { BootPlan, Found } from "../../../model/boot.ts";
import {
  below,
  inFolder,
  labelOf,
  linkOf,
  linkTarget,
  PLACEHOLDERS,
  parsePxe,
  pathsIn,
} from "./pxe-config.ts";

export interface RequiredBoot {
  readonly node: string;
  readonly instance: string;
  readonly macs: readonly string[];
  readonly boot: BootPlan & { readonly label: string };
}

export type ObservedState = Found & { readonly text?: string };

interface TreeState {
  readonly at: ReadonlyMap<string, ObservedState>;
  readonly source: { readonly kernel: boolean; readonly ramdisk: boolean };
  /** Possible roots in links: the TFTP server's, and the local one. */
  readonly roots: readonly string[];
}

/** A change before digests are known. */
export type TreeChange<File = "kernel" | "ramdisk"> =
  | { readonly path: string; readonly do: "folder" }
  | { readonly path: string; readonly do: "copy"; readonly file: File }
  | { readonly path: string; readonly do: "write"; readonly text: string }
  | { readonly path: string; readonly do: "link"; readonly target: string };

/** A change, null if none is needed, or the reason why there can be none. */
export type BootPart<File = "kernel" | "ramdisk"> = TreeChange<File> | null | string;

/** All changes, or the reasons why there are none. */
export function staged<File>(parts: readonly BootPart<File>[], more: readonly string[]) {
  const faults = [...parts.flatMap((part) => (typeof part === "string" ? [part] : [])), ...more];
  const changes = parts.flatMap((part) => (part === null || typeof part === "string" ? [] : part));
  return faults.length > 0 ? { changes: [], reason: faults.join("; ") } : { changes, reason: null };
}

const ABSENT: Found = { kind: "absent" };

export function pathsOf({ node, macs }: RequiredBoot): readonly string[] {
  return pathsIn(node, ["config", "kernel", "ramdisk"], macs);
}

/**
 * Switches Ironic's boot file to booting, or writes a new one, copies kernel and ramdisk, and links
 * each MAC. Files of other owners are kept.
 *
 * @param served the TFTP server's root
 * @source facts/systems.md D4; facts/ironic.md 2.3-2.5; facts/nova-bm.md 3.5, 5.5
 */
export function stage(required: RequiredBoot, tree: TreeState, served: string) {
  const { node, macs } = required;
  const found = (path: string): ObservedState => tree.at.get(path) ?? ABSENT;
  const parts = [
    ...[node, "pxelinux.cfg"].map((path) => folder(path, found(path))),
    file("kernel", required, found(`${node}/kernel`), tree),
    file("ramdisk", required, found(`${node}/ramdisk`), tree),
    config(required, found(`${node}/config`), served),
    ...macs.map((mac) => link(required, linkOf(mac), found(linkOf(mac)), tree.roots)),
  ];
  return staged(parts, macs.length === 0 ? ["it has no MAC to boot from"] : []);
}

function folder(path: string, found: ObservedState): BootPart {
  if (found.kind === "absent") return { path, do: "folder" };
  return found.kind === "folder" ? null : `${path} is ${stateText(found)}, not a folder`;
}

function file(
  name: "kernel" | "ramdisk",
  { node }: RequiredBoot,
  found: ObservedState,
  tree: TreeState,
): BootPart {
  const path = `${node}/${name}`;
  if (found.kind === "file" && found.bytes > 0) return null;
  if (found.kind !== "absent") return `${path} is ${stateText(found)}`;
  return tree.source[name]
    ? { path, do: "copy", file: name }
    : `${path} does not exist, and no old tree has the tenant's file (--from)`;
}

function config(required: RequiredBoot, found: ObservedState, served: string): BootPart {
  const path = `${required.node}/config`;
  if (found.kind === "absent") return { path, do: "write", text: textOf(required, served) };
  if (found.kind !== "file" || found.text === undefined) return `${path} is ${stateText(found)}`;
  const { boot, node } = required;
  const parsed = parsePxe(found.text);
  const label = labelOf(parsed, boot.label);
  if (label === null) return `${path} has no label ${boot.label}`;
  if (!(label.kernel ?? "").split("/").includes(node)) return `${path} boots ${label.kernel}`;
  const root = label.root ?? "";
  const boots = `uuid=${boot.root_uuid}`;
  const right = root.toLowerCase() === boots;
  if (!right && !PLACEHOLDERS.some(([, form]) => form === root)) return `${path} has root=${root}`;
  if (right && parsed.default === boot.label) return null;
  // The same change that Ironic makes after a deployment.
  const text = PLACEHOLDERS.reduce(
    (content, [placeholder]) => content.replaceAll(placeholder, `UUID=${boot.root_uuid}`),
    found.text.replaceAll(/^default .*$/gim, `default ${boot.label}`),
  );
  const now = parsePxe(text);
  return now.default === boot.label && labelOf(now, boot.label)?.root?.toLowerCase() === boots
    ? { path, do: "write", text }
    : `${path} does not have Ironic's format`;
}

function textOf({ node, boot }: RequiredBoot, served: string): string {
  const at = `${served.replace(/\/+$/, "")}/${node}`;
  return [
    `default ${boot.label}`,
    "",
    `label ${boot.label}`,
    `kernel ${at}/kernel`,
    `append initrd=${at}/ramdisk root=UUID=${boot.root_uuid} ${boot.args}`,
    "",
  ].join("\n");
}

/** Replaces only nova-baremetal's link of this machine. */
function link(
  boot: RequiredBoot,
  path: string,
  found: ObservedState,
  roots: readonly string[],
): BootPart {
  const target = `../${boot.node}/config`;
  if (found.kind === "absent") return { path, do: "link", target };
  if (found.kind !== "link") return `${path} is ${stateText(found)}, not a link`;
  const leads = (uuid: string): boolean =>
    roots.some((root) => linkTarget(found.target, root, uuid) === `${uuid}/config`);
  if (leads(boot.node)) return null;
  return leads(boot.instance) ? { path, do: "link", target } : `${path} leads to ${found.target}`;
}

function stateText(found: ObservedState): string {
  switch (found.kind) {
    case "absent":
      return "not there";
    case "folder":
      return "a folder";
    case "link":
      return `a link to ${found.target}`;
    case "file":
      return found.bytes === 0 ? "empty" : "a file that is not plain text";
    case "other":
      return found.reason;
  }
}

interface Server {
  readonly link: (path: string) => Promise<string | null>;
  /** Null unless it is a small text file. */
  readonly text: (path: string) => Promise<string | null>;
  readonly size: (path: string) => Promise<number | null>;
}

/** Follows the files like pxelinux and returns the obstacles of the next boot. */
export async function stumbles(
  { node, macs, boot }: RequiredBoot,
  server: Server,
  roots: readonly string[],
): Promise<readonly string[]> {
  const stumbles = await Promise.all(
    macs.map(async (mac) => {
      const name = linkOf(mac);
      const target = await server.link(name);
      if (target === null) return [`${name} is not a link`];
      if (!roots.some((root) => linkTarget(target, root, node) === `${node}/config`))
        return [`${name} leads to ${target}`];
      return [];
    }),
  );
  const text = await server.text(`${node}/config`);
  return [
    ...new Set(stumbles.flat()),
    ...(text === null
      ? [`${node}/config does not exist`]
      : await inConfig(text, node, boot, server, roots)),
  ];
}

async function inConfig(
  text: string,
  node: string,
  boot: BootPlan,
  server: Server,
  roots: readonly string[],
): Promise<readonly string[]> {
  const config = parsePxe(text);
  const label = config.default === null ? null : labelOf(config, config.default);
  if (label === null || config.default !== boot.label)
    return [`${node}/config has default ${config.default}`];
  const wrong =
    label.root?.toLowerCase() === `uuid=${boot.root_uuid}`
      ? []
      : [`${node}/config has root=${label.root}`];
  for (const file of [label.kernel, label.ramdisk]) {
    const at = file === null ? null : locate(file, node, roots);
    if (at === null || !(await server.size(at))) wrong.push(`${file ?? "a kernel"} does not exist`);
  }
  return wrong;
}

function locate(path: string, node: string, roots: readonly string[]): string | null {
  for (const root of roots) {
    const found = below(path, root) ?? inFolder(path, root, node);
    if (found !== null) return found;
  }
  return null;
}
