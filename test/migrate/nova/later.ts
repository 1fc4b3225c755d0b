import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { Engine } from "../../../src/model/database.ts";

import type { Case, CaseRow } from "../../cases/case.ts";
import { loadNovaApi } from "../../cases/load-case.ts";
import { run } from "../../hostile/cli.ts";
import { deploy, extractAndPlan } from "../../hostile/deployment.ts";

import { SITE } from "../../hostile/fleet.ts";
import { type TestDatabase, withDatabase } from "../../lab/index.ts";
import { cloud, OLD } from "./cloud.ts";

const BASE: CaseRow = {
  ...{ memory_mb: 1024, vcpus: 1, swap: 0, root_gb: 10, ephemeral_gb: 0, rxtx_factor: 1 },
  ...{ disabled: false, is_public: true, created_at: "2014-05-01 09:00:00" },
};

function spec(id: number, flavor_id: number, key: string, value: string): CaseRow {
  return {
    ...{ id, flavor_id, key, value },
    ...{ created_at: "2014-05-01 09:00:00", updated_at: "2016-05-01 09:00:00" },
  };
}

/** Flavors of Newton and later: one of ours, one that machines elsewhere have too, one of others. */
const NOVA_API: NonNullable<Case["nova_api"]> = {
  flavors: [
    { ...BASE, id: 1, name: "baremetal", flavorid: "11" },
    { ...BASE, id: 2, name: "m1.small", flavorid: "2" },
    { ...BASE, id: 3, name: "old metal", flavorid: "10" },
  ],
  extra_specs: [
    spec(1, 1, "cpu_arch", "x86_64"),
    spec(2, 1, "baremetal:deploy_kernel_id", OLD.kernel),
    spec(3, 1, "baremetal:deploy_ramdisk_id", OLD.ramdisk),
    spec(4, 2, "baremetal:deploy_kernel_id", OLD.kernel),
    spec(5, 2, "baremetal:deploy_ramdisk_id", OLD.ramdisk),
    spec(6, 3, "resources:VCPU", "1"),
  ],
};

/** A cloud that Nova's data migration took to Train; its machines want a resource class. */
export function trainCloud(): Case {
  const given = cloud({ machines: 4, others: 6, version: 402, release: "train" });
  return {
    ...given,
    nova: { ...given.nova, flavors: given.nova?.flavors ?? [], extra_specs: GONE },
    site: {
      ...SITE,
      machines: [{ match: {}, set: { ...SITE.machines[0].set, resource_class: "metal" } }],
    },
  };
}

export function alembicCloud(): Case {
  const train = trainCloud();
  const services = train.nova?.services ?? [];
  // Such a Nova starts no new nova-compute beside instances: this one ran before there were any.
  const started = { ...services[0], id: 90, host: "ironic-compute" };
  return {
    ...train,
    nova: { ...train.nova, version: "ab450ba04102", services: [...services, started] },
    nova_api: { ...NOVA_API, version: "cdeec0c85668" },
  };
}

const GONE: readonly CaseRow[] = [
  {
    ...{ id: 1, instance_type_id: 1, key: "cpu_arch", value: "x86_64" },
    ...{ deleted: 1, deleted_at: "2016-11-01 00:00:00" },
  },
];

export type Later = Awaited<ReturnType<typeof laterCloud>>;

/** Where the databases of a later Nova come to be, their rows with them. */
interface Settled {
  readonly nova: (made: TestDatabase) => Promise<TestDatabase>;
  readonly api: (made: TestDatabase) => Promise<TestDatabase>;
}

const HERE: Settled = {
  nova: (made) => Promise.resolve(made),
  api: (made) => Promise.resolve(made),
};

export async function laterCloud(
  engine: Engine,
  t: TestContext,
  options: readonly string[],
  given: Case = trainCloud(),
  settled: Settled = HERE,
) {
  const made = await deploy(engine, t, given, {}, settled.nova);
  const loaded = await withDatabase(engine, t);
  await loadNovaApi(loaded.db, engine, given.nova_api ?? NOVA_API);
  const api = await settled.api(loaded);
  let apiUser = "";
  const file = async (role: string, rights: string): Promise<readonly string[]> => {
    const account = await api.server?.restrictedUser(role, api.name, rights);
    if (rights === "SELECT") apiUser = account?.user ?? "";
    const url = account?.url ?? api.url;
    const path = join(made.folder, `${role}.url`);
    writeFileSync(path, `${url}\n`, { mode: 0o600 });
    return ["--nova-api-db", `file:${path}`];
  };
  const apiReader = await file("apireads", "SELECT");
  const apiWriter = await file("apiwrites", "SELECT, INSERT, UPDATE, DELETE");
  const { at, source, writer, novaWriter } = made;
  const release = given.ironic?.release === "train" ? ["--ironic-release", "train"] : [];
  await extractAndPlan(made, ...source.slice(2, 4), ...apiReader, ...release, ...options);
  return {
    ...made,
    ...{ api, apiWriter, apiReader, apiUser },
    act: (words: readonly string[], more = apiWriter, failpoint?: string) => {
      // verify watches nobody, and asks nobody.
      const nova = words[0] === "verify" ? novaWriter.slice(0, 2) : [...novaWriter, "--yes"];
      const env = failpoint === undefined ? {} : { NOVA2IRONIC_FAILPOINT: failpoint };
      return run([...words, ...at, ...writer, ...nova, ...more, "-q"], { env });
    },
  };
}
