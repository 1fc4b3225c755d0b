import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "../../../grenade/lib/wait.ts";
import { freeAddresses } from "../../support/bmc/index.ts";
import { type Daemon, startDaemon } from "../daemon.ts";
import { privateFile, privateFolder } from "../folder.ts";
import { answersPing } from "./raw.ts";

/** IPMB addresses 0x20, 0x22 ... 0xe6. */
const MOST_IPMI_SIM = 100;

export interface SimBmc {
  readonly power: boolean;
  /** At most 19 characters, no blanks: the simulator cuts it. */
  readonly password: string;
  /** At most 19 characters, no blanks. */
  readonly kg?: string;
}

/**
 * OpenIPMI's simulator: up to 100 BMCs in one process, each on an address of its own at port 623,
 * with the user `admin`. They die with this process.
 *
 * It knows suites 0 to 3, answers 04 to 15-17, is silent to Get Channel Cipher Suites outside a
 * session, has 63 slots, and takes a shell for each chassis command.
 */
export async function startIpmiSim(
  program: string,
  bmcs: readonly SimBmc[],
  { firstApart = false }: { readonly firstApart?: boolean } = {},
) {
  if (bmcs.length > MOST_IPMI_SIM)
    throw new Error(`one ipmi_sim has ${MOST_IPMI_SIM} BMCs at most`);
  const addresses = await freeAddresses(bmcs.length);
  const folder = privateFolder("n2i-ipmi-sim-", {});
  const state = (at: number): string => join(folder, `power.${at}`);
  const setPower = (at: number, on: boolean): void => writeFileSync(state(at), on ? "1\n" : "0\n");
  for (const [at, { power }] of bmcs.entries()) setPower(at, power);
  writeFileSync(join(folder, "chassis.sh"), CHASSIS, { mode: 0o700 });
  const apart = firstApart && bmcs.length > 1 ? 1 : 0;
  const groups = [bmcs.slice(0, apart), bmcs.slice(apart)].filter((group) => group.length > 0);
  const programs = groups.map((group, number) => {
    const lan = group.map((bmc, at) => {
      const among = at + number * apart;
      return lanOf(bmc, at, addresses[among] ?? "", { folder, among });
    });
    const [config, sim, own] = [`lan${number}.conf`, `sim${number}.emu`, `state${number}`];
    privateFile(join(folder, config), `name "lab"\n${lan.join("")}`, {});
    privateFile(join(folder, sim), emulation(group.length), {});
    return `${program} -n -p -c ${config} -f ${sim} -s ${join(folder, own)}`;
  });
  const daemon = startDaemon(
    ["mkdir", ...groups.map((_, number) => join(folder, `state${number}`))],
    [
      "sh",
      "-c",
      apart > 0 ? `${programs[0]} & echo $! >pid; exec ${programs[1]}` : `exec ${programs[0]}`,
    ],
    { folder, signal: "TERM", owner: {} },
  );
  /** Makes the first BMC silent, or lets it answer again; it must have a process of its own. */
  const silence = (silent: boolean): void => {
    const pid = Number(readFileSync(join(folder, "pid"), "utf8"));
    process.kill(pid, silent ? "SIGSTOP" : "SIGCONT");
  };
  await answered(addresses.at(-1) ?? "", daemon);
  const power = (at: number): boolean => readFileSync(state(at), "utf8").startsWith("1");
  /** What would change power or boot device, in its order: `3 power 0`, `3 boot pxe`. */
  const commands = (): readonly string[] => {
    const log = join(folder, "commands");
    return existsSync(log) ? readFileSync(log, "utf8").trimEnd().split("\n") : [];
  };
  return { addresses, power, setPower, silence, commands, stop: daemon.stop };
}

export type IpmiSim = Awaited<ReturnType<typeof startIpmiSim>>;

export interface PyghmiBmc {
  readonly power: boolean;
  readonly password: string;
  /** Answers this completion code to Get Chassis Status so many times. */
  readonly busy?: { readonly code: number; readonly times: number };
  readonly kg?: string;
}

/**
 * pyghmi's server: one BMC, user `admin`, suite 3 alone, silent to unknown users and wrong RAKP3. It dies with this
 * process.
 * @param python path of the Python that has pyghmi
 */
export async function startPyghmi(python: string, bmc: PyghmiBmc) {
  const [address = ""] = await freeAddresses(1);
  const folder = privateFolder("n2i-pyghmi-", {});
  privateFile(join(folder, "bmc.json"), JSON.stringify({ ...bmc, address }), {});
  const daemon = startDaemon(["true"], [python, "-c", PYGHMI], {
    folder,
    signal: "TERM",
    owner: {},
  });
  await answered(address, daemon);
  return { address, stop: daemon.stop };
}

async function answered(address: string, daemon: Daemon): Promise<void> {
  await until(`the simulated BMC at ${address} answers`, async () => {
    if (!daemon.running()) throw new Error(`it ended by itself\n${daemon.lastWords()}`);
    return (await answersPing(address)) ? null : "it does not";
  }).catch(async (cause) => {
    await daemon.stop();
    throw cause;
  });
}

function lanOf(
  { password, kg }: SimBmc,
  at: number,
  address: string,
  { folder, among }: { readonly folder: string; readonly among: number },
): string {
  const auths = ["callback", "user", "operator", "admin"];
  return [
    `set_working_mc ${ipmb(at)}`,
    " startlan 1",
    `  addr ${address} 623`,
    "  priv_limit admin",
    ...auths.map((level) => `  allowed_auths_${level} none md2 md5 straight`),
    `  guid ${(among + 1).toString(16).padStart(32, "0")}`,
    ...(kg === undefined ? [] : [`  bmc_key "${kg}"`]),
    " endlan",
    // Without it a second BMC makes the process crash.
    ` chassis_control "${join(folder, "chassis.sh")} ${join(folder, `power.${among}`)}"`,
    ` user 2 true "admin" "${password}" admin 10 none md2 md5 straight`,
    "",
  ].join("\n");
}

function emulation(count: number): string {
  const controllers = Array.from({ length: count }, (_, at) => [
    `mc_add ${ipmb(at)} 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02\n`,
    at === 0 ? "" : `mc_enable ${ipmb(at)}\n`,
  ]);
  return ["mc_setbmc 0x20\n", ...controllers.flat(), "mc_enable 0x20\n"].join("");
}

function ipmb(at: number): string {
  return `0x${(0x20 + 2 * at).toString(16)}`;
}

/** `chassis.sh FILE get power` or `chassis.sh FILE set power 1`: what ipmi_sim runs. */
const CHASSIS = `#!/bin/sh
state=$1 what=$2
shift 2
if [ "$what" = get ]; then
  for word; do
    case $word in power) echo "power:$(cat "$state")" ;; boot) echo boot:none ;; esac
  done
  exit 0
fi
while [ $# -gt 1 ]; do
  echo "\${state##*.} $1 $2" >>"\${state%/*}/commands"
  case $1 in power) echo "$2" >"$state" ;; reset) echo 1 >"$state" ;; shutdown) echo 0 >"$state" ;; esac
  shift 2
done
`;

/** Reads its settings, password included, from the file beside it. */
const PYGHMI = `
import json
import pyghmi.ipmi.bmc as bmc

class Machine(bmc.Bmc):
    def __init__(self, own):
        super().__init__({'admin': own['password']}, port=623, address='::ffff:' + own['address'])
        self.on, self.busy = own['power'], own.get('busy') or {'code': 0, 'times': 0}
        if own.get('kg'):
            self.set_kg(own['kg'])

    def get_power_state(self):
        return 'on' if self.on else 'off'

    def power_on(self):
        self.on = True

    def power_off(self):
        self.on = False

    def get_chassis_status(self, session):
        if self.busy['times'] > 0:
            self.busy['times'] -= 1
            return session.send_ipmi_response(code=self.busy['code'])
        return super().get_chassis_status(session)

with open('bmc.json') as file:
    machine = Machine(json.load(file))
machine.listen()
`;
