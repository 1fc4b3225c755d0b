import { adviceOf, warningsOf } from "../core/power/advice.ts";
import type { HostLogin, Secret, Way } from "../core/power/way.ts";
import type {
  ConductorIpmitool,
  PowerQuestion,
  PowerReading,
  PowerVerdict,
} from "../model/power.ts";
import { isSealed, type Seal } from "../model/secret.ts";

/** A machine to ask, and how: of what is planned to be loaded, by `power` and by a recheck alike. */
export interface Asked {
  readonly id: number;
  readonly way: Way;
}

/** A machine behind a virtualisation host. */
interface Guest {
  readonly bm_node_id: number;
  readonly macs: readonly string[];
}

/** Guests of one host that are asked about by one login. */
export interface Guests {
  readonly host: HostLogin;
  readonly password: (() => string) | null;
  readonly machines: Guest[];
}

/** What is not asked over IPMI, gathered while the questions are given out; and what was asked of whom. */
export interface LeftOut {
  readonly ways: Map<number, Way>;
  readonly guests: Map<string, Guests>;
  readonly unasked: {
    readonly id: number;
    readonly address: string;
    readonly verdict: PowerVerdict;
    readonly detail: string;
  }[];
}

export function newAside(): LeftOut {
  return { ways: new Map(), guests: new Map(), unasked: [] };
}

/**
 * The questions to BMCs, one for each BMC and credential, streaming. Machines that share a BMC are
 * held back until the end and asked about once.
 *
 * @param isShared whether other machines are asked in these words, too
 */
export async function* questionsOf(
  asked: AsyncIterable<Asked> | Iterable<Asked>,
  isShared: (words: string) => boolean,
  seal: Seal,
  aside: LeftOut,
): AsyncGenerator<PowerQuestion> {
  const shared = new Map<string, { readonly question: PowerQuestion; readonly ids: number[] }>();
  for await (const { id, way } of asked) {
    aside.ways.set(id, way);
    if (way.way === "none") aside.unasked.push({ id, ...way });
    else if (way.way === "virtual") addGuest(aside, id, way, seal);
    else {
      const question = questionOf(id, way, seal);
      if (!isShared(way.words)) {
        yield question;
        continue;
      }
      const key = JSON.stringify([way.words, question.password(), opened(way.login.kg, seal)]);
      const known = shared.get(key);
      if (known === undefined) shared.set(key, { question, ids: [id] });
      else known.ids.push(id);
    }
  }
  for (const { question, ids } of shared.values()) yield { ...question, bm_node_ids: ids };
}

function questionOf(
  id: number,
  { login }: Way & { readonly way: "ipmi" },
  seal: Seal,
): PowerQuestion {
  const { address, port, user, password, kg, suite, level } = login;
  return {
    ...{ bm_node_ids: [id], address, port, user, level },
    password: () => opened(password, seal),
    ...(suite !== null && { suite }),
    ...(kg !== null && { kg: () => Buffer.from(opened(kg, seal), "hex") }),
  };
}

function addGuest(
  { guests }: LeftOut,
  id: number,
  { host, password, macs }: Way & { readonly way: "virtual" },
  seal: Seal,
): void {
  const key = JSON.stringify([host, opened(password, seal)]);
  const known = guests.get(key);
  const guest = { bm_node_id: id, macs };
  if (known !== undefined) known.machines.push(guest);
  else
    guests.set(key, {
      host,
      password: password === null ? null : () => opened(password, seal),
      machines: [guest],
    });
}

function opened(secret: Secret | null, seal: Seal): string {
  return isSealed(secret) ? seal.open(secret) : (secret ?? "");
}

/** A reading with what was asked, and what a conductor with this ipmitool needs to get on as well. */
export function complete(
  reading: PowerReading,
  { ways }: LeftOut,
  ipmitool: ConductorIpmitool,
): PowerReading {
  const own = reading.bm_node_ids.flatMap((id) => ways.get(id) ?? []);
  const [way] = own;
  if (way === undefined) return reading;
  const machines = own.map(({ digest }) => digest);
  const told = { ...reading, asked: { words: way.words, ipmitool, machines } };
  return {
    ...told,
    warnings: warningsOf(told, way, ipmitool),
    advice: adviceOf(told, way, ipmitool),
  };
}
