import type { Sealed } from "./secret.ts";

/** One label of a PXE configuration. */
export interface PxeLabel {
  readonly label: string;
  /** As written: absolute, or below the TFTP root. */
  readonly kernel: string | null;
  readonly ramdisk: string | null;
  /** What the last `root=` says: `UUID=...`, or a placeholder nobody filled. */
  readonly root: string | null;
  /** The other kernel arguments, one space between them: `ro nofb nomodeset vga=normal`. */
  readonly args: string;
}

/** What of a PXE configuration matters to the tenant; the deploy label's key is not kept. */
export interface PxeFacts {
  /** The label that boots unasked. */
  readonly default: string | null;
  readonly boot: PxeLabel | null;
  readonly deploy: Pick<PxeLabel, "kernel" | "ramdisk"> | null;
}

/**
 * What a compute host's TFTP tree holds for a machine. Paths are below the tree's root.
 *
 * @source facts/nova-bm.md 3.5
 */
export type BootFile =
  | {
      readonly kind: "read";
      readonly path: string;
      readonly config: PxeFacts;
      /** Bytes of the tenant's kernel and ramdisk; null when they are not there. */
      readonly kernel: number | null;
      readonly ramdisk: number | null;
      /** MAC -> where its link in pxelinux.cfg leads; null without one. */
      readonly links: { readonly [mac: string]: string | null };
    }
  | { readonly kind: "missing"; readonly path: string }
  /** It is there, and nothing of it may be used. */
  | { readonly kind: "refused"; readonly path: string; readonly why: string }
  /** Trees were given, and none is of this host. */
  | { readonly kind: "no-tree" };

/** What `boot` needs to know of one machine: a part of its plan's line. */
export interface BootPlan {
  /** Of the tenant's root filesystem. */
  readonly root_uuid: string;
  /** Kernel arguments that follow `root=`. */
  readonly args: string;
  /** The label the release boots a tenant by; null when its take-over removes boot files. */
  readonly label: string | null;
  /** The tenant's own, below the old tree's root; null when no tree says. */
  readonly kernel: string | null;
  readonly ramdisk: string | null;
  /** nova-compute's my_ip and boot file: what Neutron's DHCP options say until a take-over rewrites them. */
  readonly dhcp: { readonly server: string | null; readonly file: string } | null;
}

/** What stands, or is to stand, under a name of a TFTP tree. */
export type Thing =
  | { readonly kind: "folder" }
  | { readonly kind: "link"; readonly target: string }
  | {
      readonly kind: "file";
      readonly sha256: string;
      /** Of a file that is replaced: what undoing puts back. Ironic's own may hold its deploy key. */
      readonly was?: {
        readonly text: Sealed;
        readonly mode: number;
        readonly uid: number;
        readonly gid: number;
      };
    };

/** A change of one name, reversible; paths are below the tree's root. */
export interface BootStep {
  readonly path: string;
  readonly before: Thing | null;
  readonly after: Thing;
}

/** What was found under a name, looked at without following a link. */
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
  /** A device or the like, or it cannot be looked at. */
  | { readonly kind: "other"; readonly why: string };

export function sameThing(left: Thing, right: Thing): boolean {
  if (left.kind === "link") return right.kind === "link" && left.target === right.target;
  if (left.kind === "file") return right.kind === "file" && left.sha256 === right.sha256;
  return right.kind === "folder";
}
