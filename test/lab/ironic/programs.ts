import { spawnSync } from "node:child_process";
import { locate, notInstalled } from "../binaries.ts";
import { PYTHON, versionsOf } from "../python.ts";

/** Debian 12's packages: 181 with all they need, 300 MB, 45 seconds. They start no service. */
export const IRONIC = {
  title: "Ironic 21.4 (2023.1)",
  packages: ["python3-ironic", "ironic-common"],
} as const;

/**
 * The programs of Ironic 2023.1.
 * @throws Error when they are not installed, or the distribution has another release
 */
export function ironicPrograms() {
  const [ironic, dbsync] = [locate("ironic"), locate("ironic-dbsync")];
  const [version] = versionsOf(["ironic"]);
  if (ironic === null || dbsync === null || !version?.startsWith("21.4."))
    throw notInstalled(IRONIC);
  return { ironic, dbsync, python: PYTHON };
}

/** A line for http_basic_auth_user_file; ironic-lib takes bcrypt under the name `$2y$` alone. */
export function htpasswd(python: string, user: string, password: string): string {
  const script =
    "import bcrypt, sys; print(bcrypt.hashpw(sys.stdin.buffer.read(), bcrypt.gensalt(5)).decode())";
  const { stdout } = spawnSync(python, ["-c", script], { input: password, encoding: "utf8" });
  return `${user}:${stdout.trim().replace("$2b$", "$2y$")}\n`;
}
