import { legacyConfig, PXE_APPEND } from "../core/boot/legacy.ts";
import { readOsloFiles } from "../edge/config/oslo.ts";
import type { Database } from "../edge/database/open.ts";
import { readBootFacts } from "../edge/leases/boot.ts";
import { inspect } from "../edge/tftp/safe-fs.ts";
import { openTrees } from "../edge/tftp/tree.ts";
import { MigrationError } from "../model/error.ts";
import { type Finding, finding, findingIf } from "../model/finding.ts";
import { isUuid } from "../model/uuid.ts";
import { buildBoot, type LegacyTrees, type LookedBoot, lookAtBoot } from "../parts/legacy-boot.ts";
import type { LegacyFiles } from "../parts/legacy-move.ts";
import { failpoint } from "./failpoint.ts";

/** What says where boot files go, and where they come from. */
export interface BootPlaces {
  readonly tftpRoot?: string;
  readonly tftpFrom?: readonly string[];
  /** `NODE=UUID`. */
  readonly rootUuid?: readonly string[];
  readonly novaConf?: string;
}

/** A machine with a tenant that is to boot. */
interface BootMachine {
  readonly id: number;
  readonly uuid: string;
  readonly instance: string;
  /** Its old host, then that of its instance. */
  readonly hosts: readonly string[];
}

/** Boot files of this host. */
export interface Boots {
  /** What stands against them, by bm_nodes.id. */
  readonly findings: (
    machines: readonly BootMachine[],
  ) => Promise<ReadonlyMap<number, readonly Finding[]>>;
  /** What concerns the whole tree. */
  readonly shared: () => Promise<readonly Finding[]>;
  /** Null without --tftp-root. */
  readonly files: LegacyFiles | null;
}

/** @throws MigrationError N2I-E100, N2I-E410 */
export async function openBoots(words: BootPlaces, leases: Database): Promise<Boots> {
  const { tftpRoot, tftpFrom = [], novaConf } = words;
  const roots = rootsOf(words.rootUuid ?? []);
  const conf = novaConf === undefined ? null : await readOsloFiles(novaConf.split(","), {});
  const said = (key: string): string | null => conf?.get("baremetal", key) || null;
  const [tree] = tftpRoot === undefined ? [] : await openTrees([`*=${tftpRoot}`], "--tftp-root");
  const from = await openTrees(tftpFrom, "--tftp-from");
  const tilera = /tilera/i.test(said("driver") ?? "");
  const trees =
    tree === undefined ? null : { tree, from, served: servedAs(said("tftp_root") ?? tree.root) };
  const looked = async (
    machines: readonly BootMachine[],
    at: LegacyTrees,
  ): Promise<ReadonlyMap<number, LookedBoot>> => {
    const facts = await readBootFacts(leases, machines);
    const all = machines.map(async ({ id, uuid, instance, hosts }) => {
      const { macs = [], key = null, root_uuid = null } = facts.get(id) ?? {};
      const look = await lookAtBoot(at, {
        ...{ instance: instance.toLowerCase(), macs, hosts },
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
                : judge(look, of)),
            ],
          ] as const;
        }),
      );
    },
    async shared() {
      if (tree === undefined) return [];
      const { kind } = await inspect(tree.root, "pxelinux.0");
      return findingIf(kind === "absent", "N2I-D289", tree.root, "pxelinux.0 is not there");
    },
    files:
      trees === null
        ? null
        : {
            root: trees.tree.root,
            async look({ id, uuid, from: old, tenant }) {
              const { uuid: instance = "", host = old } = tenant ?? {};
              const machine = { id, uuid, instance, hosts: [old, host] };
              const look = (await looked([machine], trees)).get(id);
              if (look === undefined) throw new Error(`nobody looked at ${uuid}`);
              return look;
            },
            build: (look, begin) => buildBoot(trees.tree, look, begin, failpoint),
          },
  };
}

/** pxelinux ends a path at a blank. @throws MigrationError N2I-E100 */
function servedAs(root: string): string {
  if (/^\/[!-~]*$/.test(root)) return root;
  throw new MigrationError("N2I-E100", `${JSON.stringify(root)} cannot stand in a boot file`, {
    fix: "Its path is absolute, in ASCII and without blanks; [baremetal]tftp_root of --nova-conf says how the host calls its tree.",
  });
}

function judge({ root_uuid, why }: LookedBoot, of: string): readonly Finding[] {
  if (why === null) return [];
  return [finding(root_uuid === null ? "N2I-D288" : "N2I-D287", of, why)];
}

/** @throws MigrationError N2I-E100 */
function rootsOf(words: readonly string[]): ReadonlyMap<string, string> {
  return new Map(
    words.map((word) => {
      const [node = "", root = ""] = word.toLowerCase().split("=");
      if (!isUuid(node) || !isUuid(root))
        throw new MigrationError("N2I-E100", "--root-uuid wants NODE=UUID");
      return [node, root] as const;
    }),
  );
}
