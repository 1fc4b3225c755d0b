import type { Sealed } from "./secret.ts";

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
