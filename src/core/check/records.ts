import type { CheckResult, CheckView } from "../../model/check.ts";
import { LIBERTY, versionNamed } from "../../model/nova-release.ts";
import { hosts } from "./hosts.ts";
import { fine, judged, lower, machinesBy, unreadable, warning, withBoth } from "./look.ts";

/**
 * Liberty and later destroy by records of evacuations. Before, nova-compute asks none: whatever its
 * driver reports under a host that is not its own is destroyed when it starts.
 *
 * @source facts/nova-bm.md 5.3; facts/rehearsal.md 5
 */
export function evacuations(view: CheckView): CheckResult {
  return withBoth(view, (bm, nova) => {
    const { evacuations: records } = nova;
    if (records === null && nova.version >= LIBERTY)
      return warning(
        `Nova ${versionNamed(nova.version)} keeps records of evacuations, and none can be read: there is no migrations table with a migration_type.`,
        "GRANT SELECT on migrations to this user, or compare --nova-db",
      );
    if (records === null) {
      const { result, details } = hosts(view);
      const habit =
        "This nova keeps no records of evacuations: through Kilo nova-compute destroys, when it starts, every instance on its machines whose host is not its own";
      return result === "Success"
        ? fine(`${habit}. There will be none.`)
        : { result, details: `${habit}. ${details}` };
    }
    const claimed = machinesBy(bm, "instance_uuid");
    return judged(
      records.map(({ instance_uuid, source }) => ({
        text: `${instance_uuid} from ${source}`,
        machines: claimed.get(lower(instance_uuid)) ?? [],
      })),
      view.plan,
      [],
      "evacuation records, for which nova-compute destroys the instance when it starts",
      "keep what SELECT * FROM migrations WHERE migration_type='evacuation' prints; then UPDATE migrations SET status='completed' WHERE migration_type='evacuation' AND status IN ('accepted','pre-migrating','done') AND deleted=0 AND instance_uuid='INSTANCE'",
    );
  });
}

/** Ironic before Pike cannot attach volumes. @source facts/nova-bm.md 5.1 */
export function volumes(view: CheckView): CheckResult {
  return withBoth(view, (bm, { volumes: attached }) => {
    if (attached === null) return unreadable("--nova-db", "block_device_mapping");
    const claimed = machinesBy(bm, "instance_uuid");
    return judged(
      attached.map((uuid) => ({ text: uuid, machines: claimed.get(lower(uuid)) ?? [] })),
      view.plan,
      ["N2I-D220"],
      "instances with volumes attached",
      "nova volume-detach INSTANCE VOLUME",
    );
  });
}
