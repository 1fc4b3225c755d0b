import { MigrationError } from "../../../lib/error.ts";
import type { Reach } from "../../../migrate/flavors/flavor-api.ts";
import type { NovaAsked } from "../../../migrate/hosts/nova-plan.ts";
import type { Watching } from "../../../migrate/hosts/nova-watch.ts";
import type { TargetOptions } from "../../../migrate/open/backend.ts";
import type { Images } from "../../../model/nova/nova-plan.ts";
import { BY_NAME } from "../../../run/cloud.ts";

export interface WatchArgs {
  readonly watch: number;
  readonly allowRunningCompute: boolean;
  readonly allowQueuedRequests: boolean;
}

/** Options of plan that say what becomes of Nova's rows. */
export interface NovaArgs extends Reach, Pick<TargetOptions, "deployKernel" | "deployRamdisk"> {
  readonly computeHost?: readonly string[];
  readonly flavorImages?: string;
  readonly flavor?: readonly string[];
}

export function watchingOf(
  { watch, allowRunningCompute, allowQueuedRequests: queued }: WatchArgs,
  tell: (text: string) => void,
): Watching {
  return { seconds: watch, allowed: allowRunningCompute, queued, tell };
}

/**
 * What the operator wants of Nova's rows; null when nova is not given.
 *
 * @throws MigrationError N2I-E100
 */
export function novaAsked(args: NovaArgs): NovaAsked | null {
  const { novaDb, novaApiDb, computeHost, flavorImages, deployKernel, deployRamdisk, flavor } =
    args;
  const wanted = { novaApiDb, computeHost, flavorImages, deployKernel, deployRamdisk, flavor };
  const alone = Object.entries(wanted).find(([, value]) => value !== undefined);
  if (novaDb === undefined) {
    if (alone === undefined) return null;
    throw usage(
      `--${alone[0].replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)} needs --nova-db`,
    );
  }
  return {
    computeHosts: computeHost ?? [],
    flavors: { images: imagesOf(args), named: new Set(flavor ?? []) },
  };
}

function imagesOf({ flavorImages, deployKernel, deployRamdisk }: NovaArgs): Images {
  const given = [deployKernel, deployRamdisk].filter((id) => id !== undefined);
  for (const id of given)
    if (!(id.startsWith(BY_NAME) ? id.length > BY_NAME.length : /^[\w.-]{1,255}$/.test(id)))
      throw usage("--deploy-kernel and --deploy-ramdisk take image ids, or name:NAME");
  const wanted = flavorImages ?? (given.length > 0 ? "point" : "keep");
  if (wanted !== "point") {
    if (given.length > 0) throw usage(`--flavor-images ${wanted} takes no images`);
    return { do: wanted === "delete" ? "delete" : "keep" };
  }
  if (deployKernel === undefined || deployRamdisk === undefined)
    throw usage("--deploy-kernel and --deploy-ramdisk are wanted together");
  return { do: "point", kernel: deployKernel, ramdisk: deployRamdisk };
}

function usage(what: string): MigrationError {
  return new MigrationError("N2I-E100", what);
}
