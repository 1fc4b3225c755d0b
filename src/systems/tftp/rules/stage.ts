import type { BootPlan, Found } from "../../../model/boot.ts";
import { below, inFolder, linkOf, linkTarget } from "./paths.ts";
import { labelOf, PLACEHOLDERS, parsePxe } from "./pxe-config.ts";

/** A machine whose boot file is wanted. */
export interface BootWanted {
  readonly node: string;
  readonly instance: string;
  readonly macs: readonly string[];
  readonly boot: BootPlan & { readonly label: string };
}

export type Seen = Found & { readonly text?: string };

/** What a tree holds, by path; and which of the tenant's files an old tree could give. */
interface TreeState {
  readonly at: ReadonlyMap<string, Seen>;
  readonly source: { readonly kernel: boolean; readonly ramdisk: boolean };
  /** The roots its links may be written with: as the TFTP server has it, and as it lies here. */
  readonly roots: readonly string[];
}

/** A change that is wanted, before digests are known. */
export type TreeChange =
  | { readonly path: string; readonly do: "folder" }
  | { readonly path: string; readonly do: "copy"; readonly file: "kernel" | "ramdisk" }
  | { readonly path: string; readonly do: "write"; readonly text: string }
  | { readonly path: string; readonly do: "link"; readonly target: string };

/** Changes in the order they are made; or why nothing of the machine is touched. */
interface Staged {
  readonly changes: readonly TreeChange[];
  readonly why: string | null;
}

const ABSENT: Found = { kind: "absent" };

/** Everything of a machine that must be looked at. */
export function pathsOf({ node, macs }: BootWanted): readonly string[] {
  return [
    node,
    ...["config", "kernel", "ramdisk"].map((name) => `${node}/${name}`),
    "pxelinux.cfg",
    ...macs.map(linkOf),
  ];
}

/**
 * What makes a machine's tenant boot from this tree: Ironic's own file switched from deploying to
 * booting, or one of ours where there is none; kernel and ramdisk; a link for each MAC. What was
 * put there by anybody else is never touched.
 *
 * @param served the tree's root as the TFTP server has it
 * @source facts/systems.md D4; facts/ironic.md 2.3-2.5; facts/nova-bm.md 3.5, 5.5
 */
export function stage(wanted: BootWanted, tree: TreeState, served: string): Staged {
  const { node, macs } = wanted;
  const found = (path: string): Seen => tree.at.get(path) ?? ABSENT;
  const parts = [
    ...[node, "pxelinux.cfg"].map((path) => folder(path, found(path))),
    file("kernel", wanted, found(`${node}/kernel`), tree),
    file("ramdisk", wanted, found(`${node}/ramdisk`), tree),
    config(wanted, found(`${node}/config`), served),
    ...macs.map((mac) => link(wanted, linkOf(mac), found(linkOf(mac)), tree.roots)),
  ];
  const why = parts.flatMap((part) => (typeof part === "string" ? [part] : []));
  if (macs.length === 0) why.push("it has no MAC to boot by");
  const changes = parts.flatMap((part) => (part === null || typeof part === "string" ? [] : part));
  return why.length > 0 ? { changes: [], why: why.join("; ") } : { changes, why: null };
}

/** A change, nothing to change, or what stands in the way. */
type Part = TreeChange | null | string;

function folder(path: string, found: Seen): Part {
  if (found.kind === "absent") return { path, do: "folder" };
  return found.kind === "folder" ? null : `${path} is ${named(found)}, no folder`;
}

function file(
  name: "kernel" | "ramdisk",
  { node }: BootWanted,
  found: Seen,
  tree: TreeState,
): Part {
  const path = `${node}/${name}`;
  if (found.kind === "file" && found.bytes > 0) return null;
  if (found.kind !== "absent") return `${path} is ${named(found)}`;
  return tree.source[name]
    ? { path, do: "copy", file: name }
    : `${path} is not there, and no old tree has the tenant's (--from)`;
}

function config(wanted: BootWanted, found: Seen, served: string): Part {
  const path = `${wanted.node}/config`;
  if (found.kind === "absent") return { path, do: "write", text: textOf(wanted, served) };
  if (found.kind !== "file" || found.text === undefined) return `${path} is ${named(found)}`;
  const { boot, node } = wanted;
  const parsed = parsePxe(found.text);
  const label = labelOf(parsed, boot.label);
  if (label === null) return `${path} has no label ${boot.label}`;
  if (!(label.kernel ?? "").split("/").includes(node)) return `${path} boots ${label.kernel}`;
  const root = label.root ?? "";
  const boots = `uuid=${boot.root_uuid}`;
  const right = root.toLowerCase() === boots;
  if (!right && !PLACEHOLDERS.some(([, word]) => word === root)) return `${path} has root=${root}`;
  if (right && parsed.default === boot.label) return null;
  const text = switched(found.text, boot);
  const now = parsePxe(text);
  return now.default === boot.label && labelOf(now, boot.label)?.root?.toLowerCase() === boots
    ? { path, do: "write", text }
    : `${path} has not the form Ironic writes`;
}

/** As Ironic itself switches a file once it has deployed. */
function switched(text: string, { label, root_uuid }: BootWanted["boot"]): string {
  return PLACEHOLDERS.reduce(
    (whole, [placeholder]) => whole.replaceAll(placeholder, `UUID=${root_uuid}`),
    text.replaceAll(/^default .*$/gim, `default ${label}`),
  );
}

function textOf({ node, boot }: BootWanted, served: string): string {
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

/** nova-baremetal's link of the same machine is replaced; nobody else's is. */
function link(wanted: BootWanted, path: string, found: Seen, roots: readonly string[]): Part {
  const target = `../${wanted.node}/config`;
  if (found.kind === "absent") return { path, do: "link", target };
  if (found.kind !== "link") return `${path} is ${named(found)}, no link`;
  const leads = (uuid: string): boolean =>
    roots.some((root) => linkTarget(found.target, root, uuid) === `${uuid}/config`);
  if (leads(wanted.node)) return null;
  return leads(wanted.instance) ? { path, do: "link", target } : `${path} leads to ${found.target}`;
}

function named(found: Seen): string {
  switch (found.kind) {
    case "absent":
      return "not there";
    case "folder":
      return "a folder";
    case "link":
      return `a link to ${found.target}`;
    case "file":
      return found.bytes === 0 ? "empty" : "a file that is no plain text";
    case "other":
      return found.why;
  }
}

/** A tree read as a TFTP server would serve it. */
interface Server {
  readonly link: (path: string) => Promise<string | null>;
  /** Null when there is no small text file. */
  readonly text: (path: string) => Promise<string | null>;
  /** Bytes; null when there is no file. */
  readonly size: (path: string) => Promise<number | null>;
}

/**
 * What a machine that starts now would stumble over, read from the files alone as pxelinux goes
 * through them; nothing when its tenant boots.
 */
export async function stumbles(
  { node, macs, boot }: BootWanted,
  server: Server,
  roots: readonly string[],
): Promise<readonly string[]> {
  const stumbles = await Promise.all(
    macs.map(async (mac) => {
      const name = linkOf(mac);
      const target = await server.link(name);
      if (target === null) return [`${name} is no link`];
      if (!roots.some((root) => linkTarget(target, root, node) === `${node}/config`))
        return [`${name} leads to ${target}`];
      return [];
    }),
  );
  const text = await server.text(`${node}/config`);
  return [
    ...new Set(stumbles.flat()),
    ...(text === null
      ? [`${node}/config is not there`]
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
    if (at === null || !(await server.size(at))) wrong.push(`${file ?? "a kernel"} is not there`);
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
