import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import type { VirtualPower } from "../../model/machine.ts";
import type { PowerOutcome, PowerVerdict } from "../../model/power.ts";

export interface Route {
  readonly type: "virsh" | "vbox";
  readonly host: string;
  readonly port: number;
  readonly user: string;
  /** Path of a readable private key. */
  readonly key: string;
}

/** Validates the settings. Nothing is sent. */
export async function routeOf(settings: VirtualPower): Promise<Route | PowerOutcome> {
  const { virtual_power_type: type, virtual_power_ssh_port: port } = settings;
  const host = settings.virtual_power_ssh_host ?? "";
  const user = settings.virtual_power_host_user ?? "";
  if (host === "") return cannot("virtual", "virtual_power_ssh_host is not set");
  if (type !== "virsh" && type !== "vbox")
    return cannot("virtual", "virtual_power_type is neither virsh nor vbox");
  if (!(/^[A-Za-z0-9_:][\w.:-]*(%[\w.-]+)?$/.test(host) && host.length <= 255))
    return cannot("incomplete", "virtual_power_ssh_host is not a host name");
  if (!Number.isInteger(port) || port < 1 || port > 65535)
    return cannot("incomplete", "virtual_power_ssh_port is not a port");
  if (user === "") return cannot("incomplete", "virtual_power_host_user is not set");
  if (!isUser(user)) return cannot("incomplete", "virtual_power_host_user is not a user name");

  const key = settings.virtual_power_host_key ?? "";
  if (key === "") return cannot("incomplete", "virtual_power_host_key is not set");
  if (await isReadable(key)) return { type, host, port, user, key };
  return cannot(
    "incomplete",
    "the file in virtual_power_host_key cannot be read: run this command on the compute host, or copy the file to the same path",
  );
}

function cannot(verdict: PowerVerdict, detail: string): PowerOutcome {
  return { verdict, detail };
}

/** A user name that ssh accepts, without blanks and `%` codes. @source OpenSSH ssh.c valid_ruser */
function isUser(text: string): boolean {
  return /^(?!-)[^\s'`";&<>|(){}%\\]{1,128}$/.test(text) && /^[\x21-\x7e]+$/.test(text);
}

/** ssh would expand `~` and `${}` in other paths. */
async function isReadable(path: string): Promise<boolean> {
  if (!path.startsWith("/") || /\$\{|\0/.test(path)) return false;
  try {
    await access(path, constants.R_OK);
    return (await stat(path)).isFile();
  } catch {
    // A missing and an unreadable file are the same to ssh.
    return false;
  }
}
