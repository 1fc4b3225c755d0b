import type { Images } from "../model/nova/nova-plan.ts";
import { type Cloud, cloudOf, ENVIRONMENT, SERVICES } from "../systems/openstack/cloud.ts";
import { cloudSettings, environmentSettings } from "../systems/openstack/clouds.ts";
import { findImages, type RequestedImage } from "../systems/openstack/glance-images.ts";
import { processContext, waitingFor } from "./process-context.ts";

/** Connection options of a service. */
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
 * The cloud of the options: an entry of clouds.yaml (`--os-cloud`, OS_CLOUD), else the OS_*
 * variables. Options override both. With an entry, only OS_REGION_NAME is read, as in openstacksdk.
 * @throws MigrationError N2I-E106
 */
export function cloudFor(options: RestOptions): Cloud {
  const { env, cwd, report: warn } = processContext();
  const name = options.osCloud ?? (env.OS_CLOUD || undefined);
  const { settings, from } =
    name === undefined
      ? { settings: environmentSettings(env), from: ENVIRONMENT }
      : cloudSettings(name, env, cwd());
  const passed =
    name === undefined ? [] : Object.keys(env).filter((key) => env[key] && WHO.test(key));
  if (passed.length > 0)
    warn(`Warning: with ${from}, these are ignored: ${passed.join(", ")}. Set them in the cloud.`);
  const { ironicUrl, osCacert, insecure } = options;
  const louder = new Map([
    ...(ironicUrl === undefined ? [] : [["baremetal_endpoint_override", ironicUrl] as const]),
    ...(osCacert === undefined ? [] : [["cacert", osCacert] as const]),
    ...(insecure === true ? [["insecure", "true"] as const] : []),
  ]);
  return cloudOf(new Map([...settings, ...louder]), from);
}

/** Variables that select an endpoint. */
const WHO = new RegExp(
  `^OS_((${SERVICES.join("|")})_)?(interface|endpoint_type|endpoint_override)$`,
  "i",
);

/** Whether any login is configured. */
export function hasLogin({ osCloud }: RestOptions): boolean {
  const { OS_CLOUD, OS_AUTH_URL, OS_AUTH_TYPE, OS_AUTH_PLUGIN } = processContext().env;
  const isConfigured = [OS_CLOUD, OS_AUTH_URL, OS_AUTH_TYPE, OS_AUTH_PLUGIN].some(Boolean);
  return osCloud !== undefined || isConfigured;
}

/** Prefix of an image name to look up in Glance. */
export const BY_NAME = "name:";

/** Default seconds per call. */
const LIMIT = 60;

/**
 * Images with their Glance ids. Names are always looked up, ids only if the options or OS_* have a
 * cloud.
 * @throws MigrationError N2I-E215 without exactly one match, N2I-E106, and N2I-E21. of the service
 */
export async function identified(images: Images, options: RestOptions): Promise<Images> {
  if (images.do !== "point") return images;
  const requested = [
    requestedImage("deploy kernel", images.kernel),
    requestedImage("deploy ramdisk", images.ramdisk),
  ] as const;
  const hasNames = requested.some(({ by }) => by === "name");
  const cloud = hasNames || isCloudSelected(options) ? cloudFor(options) : null;
  if (cloud === null) return images;
  if (!hasNames && cloud.auth.kind !== "keystone" && cloud.endpoints.image === null) return images;
  const limit = (options.apiTimeout ?? LIMIT) * 1000;
  const [kernel = images.kernel, ramdisk = images.ramdisk] = await waitingFor(
    "asking Glance for images",
    () => findImages(cloud, limit, requested),
  );
  return { do: "point", kernel, ramdisk };
}

function requestedImage(use: RequestedImage["use"], image: string): RequestedImage {
  return image.startsWith(BY_NAME)
    ? { use, by: "name", text: image.slice(BY_NAME.length) }
    : { use, by: "id", text: image };
}

/** Whether any cloud is configured. An incomplete login is then an error. */
function isCloudSelected({ osCloud }: RestOptions): boolean {
  const { OS_CLOUD, OS_AUTH_URL, OS_IMAGE_ENDPOINT_OVERRIDE } = processContext().env;
  return [osCloud, OS_CLOUD, OS_AUTH_URL, OS_IMAGE_ENDPOINT_OVERRIDE].some(Boolean);
}
