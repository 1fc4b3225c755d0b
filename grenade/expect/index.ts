import type { Claim } from "../lib/claim.ts";
import { allocations } from "./allocations.ts";
import { emptied, restored, serving, untouched } from "./back.ts";
import { commands } from "./commands.ts";
import { computeNodes } from "./compute-nodes.ts";
import { destroyed, traceless } from "./destroyed.ts";
import { errors } from "./errors.ts";
import { conductor } from "./faults/conductor.ts";
import { deleted } from "./faults/deleted.ts";
import { killed } from "./faults/killed.ts";
import { pressed } from "./faults/pressed.ts";
import { restarted } from "./faults/restarted.ts";
import { running } from "./faults/running.ts";
import { mute, silent } from "./faults/silent.ts";
import { finished } from "./finished.ts";
import { flavors } from "./flavors.ts";
import { hypervisors } from "./hypervisors.ts";
import { machines } from "./machines.ts";
import { cloudMemory, memory } from "./memory.ts";
import { networks } from "./networks.ts";
import { deployInterfaces, nodes } from "./nodes.ts";
import { ports } from "./ports.ts";
import { proxy } from "./proxy.ts";
import { rest } from "./rest.ts";
import { servers } from "./servers.ts";
import { spared, tempest } from "./tempest.ts";
import { tenants } from "./tenants.ts";

/** Every claim, in the order a person reads them. */
export const CLAIMS: readonly Claim[] = [
  ...[
    servers,
    machines,
    hypervisors,
    computeNodes,
    allocations,
    nodes,
    deployInterfaces,
    flavors,
    ports,
    proxy,
  ],
  ...[emptied, restored, untouched, serving],
  ...[tempest, spared],
  ...[killed, running, silent, mute, deleted, conductor, pressed, restarted],
  ...[
    errors,
    finished,
    tenants,
    networks,
    rest,
    destroyed,
    traceless,
    commands,
    memory,
    cloudMemory,
  ],
];
