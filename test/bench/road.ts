import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { SITE } from "../hostile/fleet.ts";
import { connect, type Place } from "../lab/connect.ts";
import { makeFleet } from "./fleet.ts";

const NOVA_CONF = "[DEFAULT]\n\n[baremetal]\nflavor_extra_specs = cpu_arch:x86_64\n";
const ACCEPTED = [
  { finding: "N2I-D604", reason: "a benchmark has no BMCs" },
  { finding: "N2I-D227", reason: "no nova-compute starts on these rows" },
];
const BENCH_SITE = {
  ...SITE,
  machines: SITE.machines.map((one) => ({ ...one, accept: ACCEPTED })),
};

export const NAMES = ["nova_bm", "nova", "ironic"] as const;
type Name = (typeof NAMES)[number];

/**
 * Fills the databases with a fleet, and writes what the commands read into the folder they run in.
 *
 * @returns what options that want a database are given
 */
export async function prepare(
  folder: string,
  machines: number,
  place: (name: Name) => Place,
  url: (name: Name) => string,
): Promise<{ readonly [name in Name]: string }> {
  const open = (name: Name) => connect(place(name));
  const databases = { nova_bm: open("nova_bm"), nova: open("nova"), ironic: open("ironic") };
  try {
    await makeFleet(databases, place("ironic").engine, machines);
  } finally {
    for (const db of Object.values(databases)) await db.destroy();
  }
  writeFileSync(join(folder, "nova.conf"), NOVA_CONF);
  writeFileSync(join(folder, "site.json"), JSON.stringify(BENCH_SITE));
  const file = (name: Name): string => {
    const path = join(folder, `${name}.url`);
    writeFileSync(path, url(name), { mode: 0o600 });
    return `file:${path}`;
  };
  return { nova_bm: file("nova_bm"), nova: file("nova"), ironic: file("ironic") };
}
