import { factsOf, linkOf, linkTarget, pathsIn, uuidOf } from "./pxe-config.ts";
import { type BootPart, type ObservedState, staged } from "./stage.ts";

/** Images in a machine's folder, in the order of their creation. */
export const IMAGES = ["kernel", "ramdisk", "deploy_kernel", "deploy_ramdisk"] as const;
export type ImageName = (typeof IMAGES)[number];

/** A machine whose boot files a nova-baremetal host needs. */
export interface LegacyBoot {
  readonly instance: string;
  readonly macs: readonly string[];
  readonly served: string;
  readonly text: string;
}

export interface ExistingImage {
  readonly fault: string | null;
  /** The size in Glance, or null if unknown. */
  readonly bytes: number | null;
}

export function legacyPaths({ instance, macs }: Pick<LegacyBoot, "instance" | "macs">) {
  return pathsIn(instance, [...IMAGES, "config"], macs);
}

/**
 * Files of other owners stay unchanged. A link per MAC comes last.
 *
 * @source facts/systems.md A5; facts/nova-bm.md 3.5
 */
export function legacyStage(
  boot: LegacyBoot,
  at: ReadonlyMap<string, ObservedState>,
  images: ReadonlyMap<ImageName, ExistingImage>,
) {
  const { instance, macs } = boot;
  const found = (path: string): ObservedState => at.get(path) ?? { kind: "absent" };
  const parts = [
    folder(instance, found(instance)),
    ...IMAGES.map((image) =>
      file(`${instance}/${image}`, image, found(`${instance}/${image}`), images),
    ),
    config(boot, found(`${instance}/config`)),
    folder("pxelinux.cfg", found("pxelinux.cfg")),
    ...macs.map((mac) => link(boot, linkOf(mac), found(linkOf(mac)))),
  ];
  return staged(parts, macs.length === 0 ? ["bm_interfaces has no MAC of it"] : []);
}

function folder(path: string, found: ObservedState): BootPart<ImageName> {
  if (found.kind === "absent") return { path, do: "folder" };
  return found.kind === "folder" ? null : `${path} is not a folder`;
}

function file(
  path: string,
  image: ImageName,
  found: ObservedState,
  images: ReadonlyMap<ImageName, ExistingImage>,
): BootPart<ImageName> {
  const { fault = "no specified tree has it", bytes = null } = images.get(image) ?? {};
  if (found.kind === "file" && found.bytes > 0)
    return bytes === null || found.bytes === bytes
      ? null
      : `${path} exists with ${found.bytes} bytes, but Glance's image has ${bytes}`;
  if (found.kind !== "absent") return `${path} exists, but is not an image`;
  return fault === null ? { path, do: "copy", file: image } : `${path} does not exist: ${fault}`;
}

function config({ instance, text }: LegacyBoot, found: ObservedState): BootPart<ImageName> {
  const path = `${instance}/config`;
  if (found.kind === "absent") return { path, do: "write", text };
  if (found.kind !== "file" || found.text === undefined) return `${path} is not a boot file`;
  if (found.text === text) return null;
  const [now, expected] = [found.text, text].map(bootsOf);
  return now !== null && now === expected ? null : `${path} exists, but boots something else`;
}

function link(
  { instance, served }: LegacyBoot,
  path: string,
  found: ObservedState,
): BootPart<ImageName> {
  if (found.kind === "absent")
    return { path, do: "link", target: `${served.replace(/\/+$/, "")}/${instance}/config` };
  if (found.kind !== "link") return `${path} is not a link`;
  return linkTarget(found.target, served, instance) === `${instance}/config`
    ? null
    : `${path} leads to ${found.target}`;
}

/** The default root filesystem of a boot file, lower case, or null. */
export function bootsOf(text: string): string | null {
  const facts = factsOf(text);
  return facts.default === "boot" ? uuidOf(facts.boot?.root ?? null) : null;
}

/** Changes a boot file's paths to this tree. Null if the file is of another instance. */
export function rehomed(text: string, instance: string, served: string): string | null {
  const kernel = factsOf(text).boot?.kernel ?? "";
  const at = kernel.toLowerCase().lastIndexOf(`/${instance.toLowerCase()}/`);
  if (at < 0) return null;
  const old = kernel.slice(0, at + instance.length + 2);
  return text.replaceAll(old, `${served.replace(/\/+$/, "")}/${instance}/`);
}

interface LegacyPxe {
  readonly instance: string;
  readonly served: string;
  readonly root_uuid: string;
  /** bm_nodes.id and its deploy key. */
  readonly deployment: number;
  readonly key: string;
  /** [baremetal]pxe_append_params. */
  readonly append: string;
}

/** nova-baremetal's default. @source nova@2014.2:nova/virt/baremetal/pxe.py */
export const PXE_APPEND = "nofb nomodeset vga=normal";

/**
 * The file after the deploy helper switched it to booting, byte by byte, with a trailing blank and
 * no newline.
 *
 * @source nova@2014.2:nova/virt/baremetal/pxe_config.template; facts/nova-bm.md 3.5
 */
export function legacyConfig(pxe: LegacyPxe): string {
  const { instance, served, root_uuid, deployment, key, append } = pxe;
  const at = `${served.replace(/\/+$/, "")}/${instance}`;
  const deploy = [
    `initrd=${at}/deploy_ramdisk selinux=0 disk=cciss/c0d0,sda,hda,vda`,
    `iscsi_target_iqn=iqn-${instance} deployment_id=${deployment} deployment_key=${key}`,
    `troubleshoot=0 ${append}`,
  ];
  return [
    ...["default boot", "", "label deploy", `kernel ${at}/deploy_kernel`],
    ...[`append ${deploy.join(" ")}`, "ipappend 3", "", "", "label boot", `kernel ${at}/kernel`],
    `append initrd=${at}/ramdisk root=UUID=${root_uuid} ro ${append} `,
  ].join("\n");
}
