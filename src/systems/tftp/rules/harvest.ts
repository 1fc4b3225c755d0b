import { isUuid } from "../../../lib/uuid.ts";
import type { BootFile } from "../../../model/boot.ts";
import { type Finding, type FindingCode, finding, findingIf } from "../../../model/findings.ts";
import type { Machine } from "../../../model/machine.ts";
import { uuidOf } from "./pxe-config.ts";

/** The reason not to use the file's root filesystem. */
function fault(boot: BootFile, instance: string): readonly [FindingCode, string] | null {
  switch (boot.kind) {
    case "no-tree":
      return ["N2I-D707", "--tftp-root does not specify a tree for this host"];
    case "missing":
      return ["N2I-D700", `${boot.path} is not in the tree`];
    case "refused":
      return ["N2I-D703", `${boot.path} ${boot.why}`];
    case "read": {
      const { default: chosen, boot: label } = boot.config;
      const other = [boot.path, label?.kernel, label?.ramdisk]
        .flatMap((path) => (path ?? "").toLowerCase().split("/").filter(isUuid))
        .find((uuid) => uuid !== instance.toLowerCase());
      if (other !== undefined) return ["N2I-D704", `${boot.path} refers to instance ${other}`];
      if (chosen !== "boot")
        return ["N2I-D701", `${boot.path} has default ${JSON.stringify(chosen)}`];
      if (uuidOf(label?.root ?? null) !== null) return null;
      const root = label?.root === null ? "no root=" : `root=${label?.root}`;
      return ["N2I-D702", `${boot.path} has ${label === null ? "no label boot" : root}`];
    }
  }
}

export function rootUuid({ boot, node }: Machine): string | null {
  if (boot?.kind !== "read" || fault(boot, node.instance_uuid ?? "") !== null) return null;
  return uuidOf(boot.config.boot?.root ?? null);
}

/** @source facts/nova-bm.md 3.5 */
export function inspectBoot({ boot, node }: Machine): readonly Finding[] {
  if (boot === undefined || node.task_state !== "active") return [];
  const where = `bm_nodes.id=${node.id} pxe_config_path`;
  const wrong = fault(boot, node.instance_uuid ?? "");
  if (wrong !== null) return [finding(wrong[0], where, wrong[1])];
  if (boot.kind !== "read") return [];
  const missing = (["kernel", "ramdisk"] as const).filter((file) => !boot[file]);
  const empty = `${missing.join(" and ")} of ${boot.path} missing or empty`;
  return [
    ...findingIf(missing.length > 0, "N2I-D706", where, empty),
    ...Object.entries(boot.links)
      .filter(([, target]) => target !== boot.path)
      .map(([mac, target]) => {
        const leads = target === null ? "has no link" : `leads to ${target}`;
        return finding("N2I-D705", where, `${mac} ${leads}`);
      }),
  ];
}
