import { type Finding, findingIf } from "../../model/finding.ts";
import { objectOf } from "../../model/json.ts";
import type { Machine, Row } from "../../model/machine.ts";
import { show } from "../../model/text.ts";

/** What Glance calls parts of an Amazon image; none of them is a format that Ironic detects. */
const AMAZON: ReadonlySet<string> = new Set(["ami", "ari", "aki"]);

/**
 * Instances that run on as they are, and whose rebuild Ironic will refuse.
 *
 * @param row the node as it is planned, with its instance
 * @source Ironic: ironic/common/images.py, check_if_image_format_is_permitted (CVE-2024-44082);
 *   conductor/deployments.py, validate_node: a rebuild forgets kernel and ramdisk of a Glance image
 */
export function inspectRebuild({ nova }: Machine, row: Row, where: string): readonly Finding[] {
  const format = nova?.instance?.system_metadata.image_disk_format ?? "";
  const { deploy_interface: by, instance_info: info } = row;
  const amazon = by === "direct" && AMAZON.has(format.toLowerCase());
  const lacks = by === "ramdisk" ? ["kernel", "ramdisk"].filter((key) => !objectOf(info)[key]) : [];
  const none = `its image names no ${lacks.join(" and no ")}, under ramdisk`;
  return [
    ...findingIf(
      amazon,
      "N2I-D126",
      where,
      `its image has the disk_format ${show(format)}, under direct`,
    ),
    ...findingIf(lacks.length > 0, "N2I-D127", where, none),
  ];
}
