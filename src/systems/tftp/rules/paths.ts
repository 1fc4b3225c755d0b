/** The segments of a path, or null when it is none that can be trusted. */
function segments(path: string): readonly string[] | null {
  const parts = path.split("/").filter((part) => part !== "" && part !== ".");
  return parts.includes("..") || parts.length === 0 || /[^\x20-\x7e]/.test(path) ? null : parts;
}

/**
 * A path as the configuration of one host wrote it, below the root of its TFTP tree: the tree may
 * be a copy elsewhere. Null when it leads out of the tree.
 *
 * @param root the host's own tftp_root; nova's default where nobody said it
 */
export function below(path: string, root: string): string | null {
  const parts = segments(path);
  if (parts === null) return null;
  if (!path.startsWith("/")) return parts.join("/");
  const above = segments(root) ?? [];
  if (parts.length <= above.length || above.some((part, at) => part !== parts[at])) return null;
  return parts.slice(above.length).join("/");
}

/** The same where the root is not known for certain: FOLDER/FILE, when the folder is the one expected. */
export function inFolder(path: string, root: string, folder: string): string | null {
  const found = below(path, root);
  if (found !== null) return found;
  const [last = "", parent = ""] = (segments(path) ?? []).toReversed();
  return parent.toLowerCase() === folder.toLowerCase() && last !== "" ? `${parent}/${last}` : null;
}

/** The link pxelinux looks for first: `pxelinux.cfg/01-52-54-00-00-00-01`. @param mac normalised */
export function linkOf(mac: string): string {
  return `pxelinux.cfg/01-${mac.replaceAll(":", "-")}`;
}

/** Where a link leads, below the root; relative targets start from the link's own folder. */
export function linkTarget(target: string, root: string, folder: string): string | null {
  if (target.startsWith("/")) return inFolder(target, root, folder);
  return target.startsWith("../")
    ? below(target.slice(3), root)
    : below(`pxelinux.cfg/${target}`, root);
}
