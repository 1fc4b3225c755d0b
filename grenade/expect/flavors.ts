import type { Claim } from "../lib/claim.ts";
import { at, changed } from "./moments.ts";

const KERNEL = "baremetal:deploy_kernel_id";
const RAMDISK = "baremetal:deploy_ramdisk_id";

/** Broken by a plan without --deploy-kernel and --deploy-ramdisk. */
export const flavors: Claim = {
  name: "flavors name Ironic's deploy images, and nothing else of them changed",
  phases: ["forward", "tempest"],
  check: (seen) => {
    const [before, after] = [at(seen, "before").flavor, at(seen, "after").flavor];
    const [kernel, ramdisk] = seen.fleet.images.new;
    const wanted = { ...before, [KERNEL]: kernel, [RAMDISK]: ramdisk };
    return Object.keys({ ...wanted, ...after })
      .filter((key) => after[key] !== wanted[key as keyof typeof wanted])
      .map((key) => `${key} is ${after[key]}`);
  },
  broken: (seen) =>
    changed(seen, "after", (moment) => ({
      ...moment,
      flavor: { ...moment.flavor, [KERNEL]: seen.fleet.images.old[0] },
    })),
};
