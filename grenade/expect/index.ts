import type { Claim } from "../lib/claim.ts";
import { allocations } from "./allocations.ts";
import { emptied, restored, serving, untouched } from "./back.ts";
import { commands } from "./commands.ts";
import { computeNodes } from "./compute-nodes.ts";
import { errors } from "./errors.ts";
import { finished } from "./finished.ts";
import { flavors } from "./flavors.ts";
import { hypervisors } from "./hypervisors.ts";
import { machines } from "./machines.ts";
import { memory } from "./memory.ts";
import { nodes } from "./nodes.ts";
import { rest } from "./rest.ts";
import { servers } from "./servers.ts";
import { tenants } from "./tenants.ts";

/** Every claim, in the order a person reads them. */
export const CLAIMS: readonly Claim[] = [
  ...[servers, machines, hypervisors, computeNodes, allocations, nodes, flavors],
  ...[emptied, restored, untouched, serving],
  ...[errors, finished, tenants, rest, commands, memory],
];
