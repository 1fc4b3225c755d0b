import type { TestContext } from "node:test";
import { type Ran, run, runs } from "../hostile/cli.ts";
import { type Deployment, deployFiles } from "../hostile/deployment.ts";
import { cloud, IMAGES, NEW, OLD } from "./cloud.ts";
import { type FakeCloud, fakeCloud } from "./fake-cloud.ts";

/** A deployment whose flavors a real HTTP server has. */
export interface Scene extends Deployment {
  readonly service: FakeCloud;
  readonly said: Ran;
  readonly act: (words: readonly string[], failpoint?: string) => Promise<Ran>;
  /** Extra specs of all flavors, as text. */
  readonly specs: () => string;
}

export const KERNEL = "baremetal:deploy_kernel_id";
export const RAMDISK = "baremetal:deploy_ramdisk_id";

/** A cloud planned with flavors through Nova's API: two flavors and their four deploy images. */
export async function scene(t: TestContext, options = IMAGES): Promise<Scene> {
  const made = await deployFiles(t, cloud({ machines: 2, others: 3 }));
  const service = await fakeCloud(t);
  const flavor = (id: string, name: string, keys: { readonly [key: string]: string }) =>
    service.flavors.set(id, { id, name, extra_specs: new Map(Object.entries(keys)) });
  flavor("11", "baremetal", { cpu_arch: "x86_64", [KERNEL]: OLD.kernel, [RAMDISK]: OLD.ramdisk });
  flavor("2", "m1.small", { "quota:cpu_shares": "10" });
  flavor("a/b", "metal of another", { [KERNEL]: OLD.kernel, [RAMDISK]: OLD.ramdisk });
  const image = (id: string, disk_format: string) =>
    service.images.push({ ...{ id, name: id, status: "active" }, disk_format });
  image(NEW.kernel, "aki");
  image(NEW.ramdisk, "ari");
  const { at, source, reader, plan, writer, novaWriter } = made;
  const { env } = service;
  await runs(0, ["extract", ...at, ...source, "-q"]);
  const said = await runs(
    0,
    [
      ...["plan", ...at, ...reader, ...source.slice(2, 4), ...plan, ...options],
      ...["--flavors-via", "rest", "-q"],
    ],
    { env },
  );
  service.calls.length = 0;
  return {
    ...{ ...made, service, said },
    act: (words, failpoint) => {
      const nova = words[0] === "verify" ? novaWriter.slice(0, 2) : [...novaWriter, "--yes"];
      const point = failpoint === undefined ? {} : { NOVA2IRONIC_FAILPOINT: failpoint };
      return run([...words, ...at, ...writer, ...nova, "-q"], { env: { ...env, ...point } });
    },
    specs: () =>
      JSON.stringify(
        [...service.flavors.values()].map((one) => [one.id, [...one.extra_specs].sort()]),
      ),
  };
}
