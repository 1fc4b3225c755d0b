import { locate, notInstalled } from "../binaries.ts";
import { PYTHON, versionsOf } from "../python.ts";

/** Debian 12's packages: 134 with all they need, a minute and a half. They start no service. */
export const CLOUD = {
  title: "Keystone 22, Nova 26 and Glance 25 (Zed)",
  packages: ["keystone", "nova-common", "glance-common"],
} as const;

/**
 * The programs of OpenStack Zed.
 * @throws Error when they are not installed, or the distribution has another release
 */
export function cloudPrograms() {
  const [keystone, nova, glance] = ["keystone-manage", "nova-manage", "glance-manage"].map(locate);
  const versions = versionsOf(["keystone", "nova", "glance"]).map((one) => one?.split(".")[0]);
  if (keystone == null || nova == null || glance == null || versions.join() !== "22,26,25")
    throw notInstalled(CLOUD);
  return { python: PYTHON, keystone, nova, glance };
}

export type CloudPrograms = ReturnType<typeof cloudPrograms>;
