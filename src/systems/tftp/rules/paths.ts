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
