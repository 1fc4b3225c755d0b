import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { locate } from "../../lab/binaries.ts";
import { programOf, type Unpacked } from "../../lab/unpack.ts";

interface Programs {
  readonly sshd: Unpacked;
  readonly virsh: Unpacked;
}

let programs: Programs | string | undefined;

/** sshd and virsh, once for this process and gone with it; or why there is none. */
export function realPrograms(): Programs | string {
  programs ??= find();
  return programs;
}

function find(): Programs | string {
  if (process.env.N2I_FAST === "1") return "the fast part starts no servers";
  if (spawnSync("unshare", ["--mount", "true"]).status !== 0)
    return "needs root and mount namespaces";
  const missing = ["ssh", "ssh-keygen", "openssl"].filter((name) => locate(name) === null);
  if (missing.length > 0)
    return `needs ${missing.join(", ")}: apt-get install openssh-client openssl`;
  // Whom sshd lets in has to read it: /tmp, whoever's TMPDIR this is.
  const folder = mkdtempSync(join("/tmp", "n2i-unpacked-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  chmodSync(folder, 0o711);
  const sshd = programOf("sshd", "openssh-server", folder);
  const virsh = programOf("virsh", "libvirt-clients", folder);
  if (sshd !== null && virsh !== null) return { sshd, virsh };
  return "needs sshd and virsh: apt-get install openssh-server libvirt-clients";
}
