import { needsProgram, notInstalled } from "../../lab/binaries.ts";
import { unpackedProgram } from "../../lab/unpack.ts";

const SSH = { title: "SSH's client", packages: ["openssh-client"] } as const;

/** sshd and virsh, as `npm run test:setup -- services` unpacked them. */
export function realPrograms() {
  for (const name of ["ssh", "ssh-keygen"]) needsProgram(name, SSH);
  const sshd = unpackedProgram("sshd", "openssh-server");
  const virsh = unpackedProgram("virsh", "libvirt-clients");
  if (sshd === null || virsh === null)
    throw notInstalled({
      title: "sshd and virsh",
      packages: ["openssh-server", "libvirt-clients"],
    });
  return { sshd, virsh };
}
