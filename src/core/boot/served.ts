import type { BootPlan } from "../../model/boot.ts";
import { below, inFolder, linkOf, linkTarget } from "./paths.ts";
import { labelOf, parsePxe } from "./pxe-config.ts";
import type { BootWanted } from "./stage.ts";

/** A tree read as a TFTP server would serve it. */
export interface Server {
  readonly link: (path: string) => Promise<string | null>;
  /** Null when there is no small text file. */
  readonly text: (path: string) => Promise<string | null>;
  /** Bytes; null when there is no file. */
  readonly size: (path: string) => Promise<number | null>;
}

/**
 * What a machine that starts now would stumble over, told from the files alone as pxelinux goes
 * through them; nothing when its tenant boots.
 */
export async function stumbles(
  { node, macs, boot }: BootWanted,
  server: Server,
  roots: readonly string[],
): Promise<readonly string[]> {
  const told = await Promise.all(
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
    ...new Set(told.flat()),
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
