import { withBriefFile } from "../process/brief-file.ts";

/** What the program says on stderr when ssh wants a password again: the first one was wrong. */
export const ASKED_AGAIN = "n2i: asked for the password again";

/**
 * Answers ssh's first question for a password, and nothing else: not whether a host key is right,
 * not for a key's passphrase, and not for a new password when the old one has expired. Asked
 * again, it ends ssh, so that one run costs an account one wrong password at most.
 */
const PROGRAM = `#!/bin/sh
# A question of the other host itself comes with "(user@host) " before it.
case \${1#(*@*) } in
  *yes/no* | *assphrase* | *[Nn]ew\\ * | *[Oo]ld\\ * | *[Cc]urrent[\\ \\)]* | *[Rr]etype* | *ne-time*) exit 1 ;;
  *[Pp]assword*) ;;
  *) exit 1 ;;
esac
if IFS= read -r password; then
  printf '%s\\n' "$password"
else
  echo "${ASKED_AGAIN}" >&2
  kill "$PPID"
  exit 1
fi
`;

/**
 * Gives `use` the environment by which ssh gets the password: the path of a program (0700) in a
 * folder of our own (0700), gone when `use` is done. The program reads the password from ssh's
 * standard input, a pipe, so that no file ever holds it, even if this process is killed. DISPLAY is
 * for an ssh older than 8.4, which asks no program without one.
 *
 * @throws MigrationError N2I-E400 when the program cannot be written
 * @source ssh(1), SSH_ASKPASS and SSH_ASKPASS_REQUIRE
 */
export async function withAskpass<T>(
  use: (environment: { readonly [name: string]: string }) => Promise<T>,
): Promise<T> {
  const file = { prefix: "n2i-ssh-", name: "askpass", mode: 0o700, text: PROGRAM };
  return withBriefFile({ ...file, what: "program for ssh" }, ({ path }) =>
    use({ SSH_ASKPASS: path, SSH_ASKPASS_REQUIRE: "force", DISPLAY: "none:0" }),
  );
}
