import type { ConnectionOptions } from "../../../migrate/flavors/flavor-api.ts";
import type { NovaRequest } from "../../../migrate/hosts/nova-plan.ts";
import type { Watching } from "../../../migrate/hosts/nova-target.ts";
import type { TargetOptions } from "../../../migrate/open/backend.ts";
import type { Images } from "../../../model/nova/nova-plan.ts";

export interface WatchArgs {
  readonly watch: number;
  readonly allowRunningCompute: boolean;
  readonly allowQueuedRequests: boolean;
}

export interface NovaArgs
  extends ConnectionOptions,
    Pick<TargetOptions, "deployKernel" | "deployRamdisk"> {
  readonly computeHost?: readonly string[];
  readonly flavorImages?: string;
  readonly flavor?: readonly string[];
}

export function watchingOf(
  { watch, allowRunningCompute, allowQueuedRequests: queued }: WatchArgs,
  report: (text: string) => void,
): Watching {
  return { seconds: watch, allowed: allowRunningCompute, queued, report };
}

/** The requested changes of Nova's rows; null without a Nova database. */
export function novaRequest(args: NovaArgs): NovaRequest | null {
  const { novaDb, computeHost, flavor } = args;
  if (novaDb === undefined) return null;
  return {
    computeHosts: computeHost ?? [],
    flavors: { images: imagesOf(args), selected: new Set(flavor ?? []) },
  };
}

function imagesOf({ flavorImages, deployKernel, deployRamdisk }: NovaArgs): Images {
  if (deployKernel === undefined || deployRamdisk === undefined)
    return { do: flavorImages === "delete" ? "delete" : "keep" };
  return { do: "point", kernel: deployKernel, ramdisk: deployRamdisk };
}
