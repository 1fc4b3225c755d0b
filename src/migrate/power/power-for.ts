import { resolve } from "node:path";
import { MigrationError, orNull } from "../../lib/error.ts";

import { type ConductorIpmitool, ipmitoolOf } from "../../model/power.ts";
import type { RunFolder } from "../../run/files/run-folder.ts";
import { openPlan, type openSnapshot, PLAN } from "../../run/run.ts";
import { NO_SITE } from "../mapping/site.ts";
import type { Mappings } from "../open/documents.ts";
import { createMethods } from "../transform/power-query.ts";
import { openPower, POWER } from "./power-file.ts";

/** The upgrade is defined from Juno to Juno. */
const RELEASE = "juno";

export type PowerFor = Awaited<ReturnType<typeof powerFor>>;

/**
 * Selects the conductors that the queries imitate: from this command, the run's last power, its
 * plan, or the default release. driver_info in a site document decides the address, and the release
 * decides which keys the conductor reads.
 */
export async function powerFor(
  run: RunFolder,
  snapshot: Awaited<ReturnType<typeof openSnapshot>>,
  mappings: Mappings,
  options: {
    readonly site: string | undefined;
    readonly release: string | undefined;
    readonly ipmitool: ConductorIpmitool | undefined;
  },
) {
  // Missing or unreadable files are ignored.
  const readings = await orNull(openPower(`${run.path}/${POWER}`));
  const last = readings?.header.asked_for;
  const plan = (await orNull(openPlan(`${run.path}/${PLAN}`)))?.header;
  // A plan with these readings and no site document used no other settings.
  const from = plan?.made_from;
  const isWithout = from?.site === null && from.power?.sha256 === readings?.footer.sha256;
  const releaseName = options.release ?? plan?.target.release ?? last?.release ?? RELEASE;
  const release = mappings.releases.find(({ doc }) => doc.release === releaseName);
  if (release === undefined)
    throw new MigrationError("N2I-E100", `--ironic-release ${releaseName} is not a known release`);
  const ipmitool =
    options.ipmitool ?? plan?.conductor_ipmitool ?? ipmitoolOf(last?.ipmitool ?? undefined);
  const file =
    options.site === undefined ? (isWithout ? null : (last?.site ?? null)) : resolve(options.site);
  const site = file === null ? NO_SITE : (await mappings.site(file)).site;
  const mapping = mappings.forRelease(release, site);
  const docs = mappings.releases.map(({ doc }) => doc);
  const { hosts, columns } = snapshot.header;
  return {
    methodOf: createMethods(mapping, docs, hosts, columns),
    ipmitool: ipmitool ?? release.doc.ipmitool,
    queriedFor: { release: release.doc.release, ipmitool: ipmitool ?? null, site: file },
  };
}
