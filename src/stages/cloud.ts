import type { Cloud, Settings } from "../edge/openstack/cloud.ts";
import { cloudSettings, environmentSettings } from "../edge/openstack/clouds.ts";
import { cloudOf } from "../edge/openstack/settings.ts";
import { surroundings } from "./surroundings.ts";

/** The options by which a command says how to reach a service. */
export interface RestOptions {
  readonly via?: "db" | "rest";
  readonly ironicUrl?: string;
  readonly osCloud?: string;
  readonly osCacert?: string;
  readonly insecure?: boolean;
  /** Machines. */
  readonly inFlight?: number;
  /** Seconds. */
  readonly apiTimeout?: number;
}

/**
 * The cloud the options name: a cloud of clouds.yaml (`--os-cloud`, OS_CLOUD), else what OS_* say;
 * options say it louder.
 *
 * @throws MigrationError N2I-E106
 */
export function cloudFor(options: RestOptions): Cloud {
  const name = options.osCloud ?? (surroundings().env.OS_CLOUD || undefined);
  const { settings, from } =
    name === undefined
      ? { settings: environmentSettings(surroundings().env), from: "OS_*" }
      : cloudSettings(name, surroundings().env, surroundings().cwd());
  return cloudOf(new Map([...settings, ...louder(options)]), from);
}

/** Whether anybody said how to log in. */
export function saysCloud({ osCloud }: RestOptions): boolean {
  const said = environmentSettings(surroundings().env);
  return osCloud !== undefined || ["cloud", "auth_url", "auth_type"].some((name) => said.has(name));
}

function louder({ ironicUrl, osCacert, insecure }: RestOptions): Settings {
  return new Map([
    ...(ironicUrl === undefined ? [] : [["baremetal_endpoint_override", ironicUrl] as const]),
    ...(osCacert === undefined ? [] : [["cacert", osCacert] as const]),
    ...(insecure === true ? [["insecure", "true"] as const] : []),
  ]);
}
