import { MigrationError } from "../../lib/error.ts";
import { readOsloFiles } from "../../lib/files/oslo.ts";
import { type Finding, finding, findingIf } from "../../model/finding.ts";
import { type RestOptions, saysCloud } from "../../run/cloud.ts";
import type { Keep } from "../../run/databases.ts";
import { tableNames } from "../../systems/database/identity.ts";
import type { Database } from "../../systems/database/open.ts";
import { mayRead } from "../../systems/nova-db/host-rights.ts";
import { SPECS } from "../../systems/nova-db/legacy.ts";
import { legacyConfig, PXE_APPEND } from "../../systems/tftp/rules/legacy.ts";
import { inspect } from "../../systems/tftp/safe-fs.ts";
import { openTrees } from "../../systems/tftp/tree.ts";
import { readBootFacts } from "../leases/boot.ts";
import { type BootImages, openBootImages } from "./legacy-images.ts";
import {
  bringImages,
  buildBoot,
  type LegacyTrees,
  type LookedBoot,
  lookAtBoot,
} from "./steps/legacy-boot.ts";
import type { LegacyFiles } from "./steps/legacy-rows.ts";

export interface BootPlaces extends RestOptions {
  readonly tftpRoot?: string;
  readonly tftpFrom?: readonly string[];
  /** `NODE=UUID`. */
  readonly rootUuid?: readonly string[];
  readonly novaConf?: string;
  /** Address of this host for booting machines. */
  readonly myIp?: string;
}

interface BootAround {
  readonly leases: Database;
  readonly nova: Database;
  readonly keep: Keep;
  readonly say: (text: string) => void;
}

interface BootMachine {
  readonly id: number;
  readonly uuid: string;
  readonly instance: string;
  /** Its former host, then the host of its instance. */
  readonly hosts: readonly string[];
}

export interface Boots {
  readonly findings: (
    machines: readonly BootMachine[],
  ) => Promise<ReadonlyMap<number, readonly Finding[]>>;
  readonly shared: () => Promise<readonly Finding[]>;
  /** Null without --tftp-root. */
  readonly files: LegacyFiles | null;
  readonly tidy: () => Promise<void>;
  /** Address of this host for booting machines; null if not specified. */
  readonly myIp: string | null;
}

/** @throws MigrationError N2I-E100, N2I-E106, N2I-E206, N2I-E410 */
export async function openBoots(words: BootPlaces, around: BootAround): Promise<Boots> {
  const { tftpRoot, tftpFrom = [], novaConf } = words;
  const conf = novaConf === undefined ? null : await readOsloFiles(novaConf.split(","), {});
  const said = (key: string): string | null => conf?.get("baremetal", key) || null;
  const [tree] = tftpRoot === undefined ? [] : await openTrees([`*=${tftpRoot}`], "--tftp-root");
  const from = await openTrees(tftpFrom, "--tftp-from");
  const tilera = /tilera/i.test(said("driver") ?? "");
  const trees =
    tree === undefined ? null : { tree, from, served: servedAs(said("tftp_root") ?? tree.root) };
  const images = trees === null ? null : await imagesFor(words, around, said, trees.tree.root);
  const looked = lookingAt(words, around.leases, said, images);
  return {
    async findings(machines) {
      const looks = trees === null ? null : await looked(machines, trees);
      return new Map(
        machines.map(({ id, instance }) => {
          const of = `instance ${instance}`;
          const look = looks?.get(id);
          return [
            id,
            [
              ...findingIf(tilera, "N2I-D286", of, `[baremetal]driver is ${said("driver")}`),
              ...(look === undefined
                ? [finding("N2I-D287", of, "--tftp-root was not given")]
                : look.why === null
                  ? []
                  : [finding(look.root_uuid === null ? "N2I-D288" : "N2I-D287", of, look.why)]),
            ],
          ] as const;
        }),
      );
    },
    async shared() {
      if (tree === undefined) return [];
      const { kind } = await inspect(tree.root, "pxelinux.0");
      return findingIf(kind === "absent", "N2I-D289", tree.root, "pxelinux.0 is missing");
    },
    files: trees === null ? null : filesIn(trees, looked, images),
    tidy: async () => images?.tidy(),
    myIp: words.myIp ?? (conf?.get("DEFAULT", "my_ip") || null),
  };
}

/** Glance, with a login. @throws MigrationError N2I-E206 */
async function imagesFor(
  words: BootPlaces,
  { nova, keep, say }: BootAround,
  said: Said,
  root: string,
): Promise<BootImages | null> {
  if (!saysCloud(words)) return null;
  if ((await tableNames(nova)).has(SPECS)) await mayRead(nova, [SPECS]);
  return openBootImages(words, { nova, said, root, keep, say });
}

type Said = (key: string) => string | null;

/** Finds missing boot files, by bm_nodes.id. */
type Looked = (
  machines: readonly BootMachine[],
  at: LegacyTrees,
) => Promise<ReadonlyMap<number, LookedBoot>>;

function lookingAt(
  words: BootPlaces,
  leases: Database,
  said: Said,
  images: BootImages | null,
): Looked {
  const roots = rootsOf(words.rootUuid ?? []);
  return async (machines, at) => {
    const facts = await readBootFacts(leases, machines);
    const known = await images?.of(machines, facts);
    const all = machines.map(async ({ id, uuid, instance, hosts }) => {
      const { macs = [], key = null, root_uuid = null } = facts.get(id) ?? {};
      const look = await lookAtBoot(at, {
        ...{ instance: instance.toLowerCase(), macs, hosts, images: known?.get(id) ?? new Map() },
        root_uuid: roots.get(uuid.toLowerCase()) ?? root_uuid,
        render: (root) =>
          key === null
            ? null
            : legacyConfig({
                ...{ instance: instance.toLowerCase(), served: at.served, root_uuid: root },
                ...{ deployment: id, key, append: said("pxe_append_params") ?? PXE_APPEND },
              }),
      });
      return [id, look] as const;
    });
    return new Map(await Promise.all(all));
  };
}

function filesIn(trees: LegacyTrees, looked: Looked, images: BootImages | null): LegacyFiles {
  const fetch: BootImages["fetch"] = (image) => {
    if (images === null) throw new Error(`Glance has no reading of ${image.id}`);
    return images.fetch(image);
  };
  return {
    root: trees.tree.root,
    async look({ id, uuid, from: old, tenant }) {
      const { uuid: instance = "", host = old } = tenant ?? {};
      const machine = { id, uuid, instance, hosts: [old, host] };
      const look = (await looked([machine], trees)).get(id);
      if (look === undefined) throw new Error(`no reading of ${uuid}`);
      return look;
    },
    bring: (look) =>
      bringImages(look, fetch).catch((cause: unknown) => {
        if (cause instanceof MigrationError) return cause.message;
        throw cause;
      }),
    build: (look, begin) => buildBoot(trees.tree, look, { begin, fetch }),
  };
}

/** pxelinux ends a path at a blank. @throws MigrationError N2I-E100 */
function servedAs(root: string): string {
  if (/^\/[!-~]*$/.test(root)) return root;
  throw new MigrationError("N2I-E100", `${JSON.stringify(root)} cannot be used in a boot file`, {
    fix: "The path must be absolute, in ASCII and without blanks. If the host uses another path for the tree, pass --nova-conf with [baremetal]tftp_root.",
  });
}

function rootsOf(words: readonly string[]): ReadonlyMap<string, string> {
  return new Map(
    words.map((word) => {
      const [node = "", root = ""] = word.toLowerCase().split("=");
      return [node, root];
    }),
  );
}
