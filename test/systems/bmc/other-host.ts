import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { TestContext } from "node:test";
import type { VirtualPower } from "../../../src/model/machine.ts";
import type { PowerReading } from "../../../src/model/power.ts";
import { askVirtual } from "../../../src/systems/bmc/virsh-ask.ts";
import { privateFolder } from "../../hostile/deployment.ts";

type AskOptions = Parameters<typeof askVirtual>[2];

export const HOST = "vmhost.example";
const KEY = "not a key, but what the other host knows as one\n";

const BIN = resolve("test/support/bin");

/** One that lets in who has the key, and whose host key is known here. */
export function otherHost(t: Pick<TestContext, "after">) {
  const folder = privateFolder(t);
  const set = (file: string, text: string): void => writeFileSync(join(folder, file), text);
  for (const made of ["bin", "domains"]) mkdirSync(join(folder, made));
  for (const name of ["virsh", "VBoxManage"])
    symlinkSync(join(BIN, name), join(folder, "bin", name));
  set("known", `${HOST}\n`);
  set("key", KEY);
  const key = join(folder, "key 100%");
  writeFileSync(key, KEY, { mode: 0o600 });
  const ssh = join(folder, "ssh");
  writeFileSync(ssh, `#!/bin/sh\nexport SCENE='${folder}'\nexec '${join(BIN, "ssh")}' "$@"\n`);
  chmodSync(ssh, 0o700);
  return {
    folder,
    ssh,
    key,
    set,
    /** The lines of a file; none when nobody wrote it. */
    lines(file: string): readonly string[] {
      try {
        return readFileSync(join(folder, file), "utf8").split("\n").slice(0, -1);
      } catch {
        return [];
      }
    },
    ask(machines: Parameters<typeof askVirtual>[1], more: Partial<VirtualPower & AskOptions> = {}) {
      const settings = { ...SETTINGS, virtual_power_host_key: key, ...more };
      return askVirtual(settings, machines, { ...OPTIONS, ssh, ...more });
    },
  };
}

export type OtherHost = ReturnType<typeof otherHost>;

export const SETTINGS: Omit<VirtualPower, "virtual_power_host_key"> = {
  virtual_power_ssh_host: HOST,
  virtual_power_ssh_port: 22,
  virtual_power_type: "virsh",
  virtual_power_host_user: "stack",
};

export const OPTIONS: AskOptions = {
  deadline: 20_000,
  signal: new AbortController().signal,
  now: () => new Date("2026-01-02T03:04:05Z"),
};

/** Puts a machine there, as libvirt describes one. @returns its UUID */
export function addDomain(
  host: Pick<OtherHost, "set">,
  at: number,
  { state = "running", macs = [macOf(at)], name = `baremetal_${at}`, description = "" } = {},
): string {
  const uuid = `6695eb01-f6a4-8304-79aa-${at.toString(16).padStart(12, "0")}`;
  const cards = macs.map(
    (mac) => `    <interface type='network'>\n      <mac address='${mac}'/>\n    </interface>\n`,
  );
  host.set(
    `domains/${uuid}.xml`,
    `<domain type='kvm'>\n  <name>${name}</name>\n  <uuid>${uuid}</uuid>\n${description}  <devices>\n    <emulator>/usr/bin/kvm</emulator>\n${cards.join("")}  </devices>\n</domain>\n`,
  );
  host.set(`domains/${uuid}.state`, `${state}\n`);
  return uuid;
}

/** `52:54:00:00:01:02` */
export function macOf(at: number): string {
  const hex = at.toString(16).padStart(6, "0");
  return `52:54:00:${hex.slice(0, 2)}:${hex.slice(2, 4)}:${hex.slice(4)}`;
}

export function machine(at: number, macs: readonly string[] = [macOf(at)]) {
  return { bm_node_id: at, macs };
}

export function told({ verdict, power, detail }: PowerReading): readonly (string | null)[] {
  return [verdict, power, detail];
}
