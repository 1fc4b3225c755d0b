import type { Sealed } from "./secret.ts";

export interface PxeLabel {
  readonly label: string;
  /** As written: absolute, or below the TFTP root. */
  readonly kernel: string | null;
  readonly ramdisk: string | null;
  /** Last `root=` value: `UUID=...`, or an unreplaced placeholder. */
  readonly root: string | null;
  /** The other kernel arguments, separated by single blanks: `ro nofb nomodeset vga=normal`. */
  readonly args: string;
}

/** Tenant-relevant parts of a PXE configuration, without the key of the deploy label. */
export interface PxeFacts {
  readonly default: string | null;
  readonly boot: PxeLabel | null;
  readonly deploy: Pick<PxeLabel, "kernel" | "ramdisk"> | null;
}

/** Paths are below the root of a compute host's TFTP tree. @source facts/nova-bm.md 3.5 */
export type BootFile =
  | {
      readonly kind: "read";
      readonly path: string;
      readonly config: PxeFacts;
      /** Bytes of the tenant's kernel and ramdisk. Null if missing. */
      readonly kernel: number | null;
      readonly ramdisk: number | null;
      /** MAC -> target of its link in pxelinux.cfg, else null. */
      readonly links: { readonly [mac: string]: string | null };
    }
  | { readonly kind: "missing"; readonly path: string }
  /** The file exists, but must not be used. */
  | { readonly kind: "refused"; readonly path: string; readonly why: string }
  /** No specified tree belongs to this host. */
  | { readonly kind: "no-tree" };

export interface BootPlan {
  readonly root_uuid: string;
  readonly args: string;
  /** Label by which the release boots a tenant. Null if its takeover removes boot files. */
  readonly label: string | null;
  /** The tenant's own, below the root of the old tree. Null if unknown. */
  readonly kernel: string | null;
  readonly ramdisk: string | null;
  /** nova-compute's my_ip and boot file: Neutron's DHCP options before a takeover. */
  readonly dhcp: { readonly server: string | null; readonly file: string } | null;
}

export type Thing =
  | { readonly kind: "folder" }
  | { readonly kind: "link"; readonly target: string }
  | {
      readonly kind: "file";
      readonly sha256: string;
      /** Previous content of a replaced file, for undo. It may contain Ironic's deploy key. */
      readonly was?: {
        readonly text: Sealed;
        readonly mode: number;
        readonly uid: number;
        readonly gid: number;
      };
    };

/** Reversible. The path is below the tree's root. */
export interface BootStep {
  readonly path: string;
  readonly before: Thing | null;
  readonly after: Thing;
}

export type Found =
  | { readonly kind: "absent" }
  | { readonly kind: "folder" }
  | { readonly kind: "link"; readonly target: string }
  | {
      readonly kind: "file";
      readonly bytes: number;
      readonly mode: number;
      readonly uid: number;
      readonly gid: number;
    }
  /** Such as a device, or an unreadable entry. */
  | { readonly kind: "other"; readonly reason: string };
