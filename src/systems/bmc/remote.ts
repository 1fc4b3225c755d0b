import type { Route } from "./virsh-settings.ts";

/**
 * The line the other host's shell runs: it lists every machine there, and changes nothing. Of
 * virsh only `list` and `dumpxml` run, of VBoxManage only `list` and `showvminfo`.
 *
 * Machines go by their UUIDs, as names may hold anything. Lines of our own begin with `mark`, which
 * no machine's description can hold, as nobody knows it before. sh is asked for by name, since the
 * login shell may be another; so there is no quote, backslash or exclamation mark in the program.
 *
 * @param mark letters and digits, new for each run
 */
export function remoteLine(type: Route["type"], mark: string): string {
  const { program, list } = PROGRAMS[type];
  const words = [
    "LC_ALL=C",
    "export LC_ALL",
    // nova-baremetal ran /usr/bin/virsh.
    "PATH=$PATH:/usr/local/bin:/usr/bin:/bin",
    "export PATH",
    "set -f",
    `m=${mark}`,
    "echo $m begin",
    `if command -v ${program} >/dev/null 2>&1; then ${list}; else echo $m missing; fi`,
  ];
  return `exec /bin/sh -c '${words.join("; ")}'`;
}

/**
 * Several machines a process: virsh takes commands with semicolons between, goes on when one
 * fails, and needs 20 ms to start. What is active is on, as the conductor's drivers have it.
 *
 * @source virsh(1); ironic drivers/modules/ssh.py: `list --name` is what runs
 */
const VIRSH = [
  'v() { virsh --quiet --connect qemu:///system "$@"; }',
  "if all=$(v list --all --uuid) && on=$(v list --uuid) && paused=$(v list --uuid --state-paused)",
  "then for u in $all; do echo $m all $u; done",
  "for u in $on; do echo $m on $u; done",
  "for u in $paused; do echo $m paused $u; done",
  "c=",
  "n=0",
  'for u in $all; do c="$c dumpxml $u;"',
  "n=$((n + 1))",
  'if [ $n -ge 50 ]; then v "$c"; c=; n=0; fi; done',
  'if [ -n "$c" ]; then v "$c"; fi',
  "echo $m end",
  "else echo $m failed; fi",
];

const VBOX = [
  "if all=$(VBoxManage list vms)",
  `then echo "$all" | while read -r line; do u=\${line##*[{]}; u=\${u%?}`,
  "echo $m all $u",
  "VBoxManage showvminfo $u --machinereadable; done",
  "echo $m end",
  "else echo $m failed; fi",
];

const PROGRAMS = {
  virsh: { program: "virsh", list: joined(VIRSH) },
  vbox: { program: "VBoxManage", list: joined(VBOX) },
} as const;

function joined(lines: readonly string[]): string {
  return lines.join("; ");
}
