import { createSocket } from "node:dgram";
import { once } from "node:events";
import type { TestContext } from "node:test";
import { type Mux, openMux } from "../../../src/lib/ipmi/transport.ts";
import { sessionIdOf } from "../../../src/lib/ipmi/wire.ts";
import type { PowerQuestion } from "../../../src/model/power.ts";
import { QUICK } from "../../lab/bmc/quick-clock.ts";
import type { BmcOptions } from "../../support/bmc/options.ts";
import { LOGIN, simBmc } from "./sim-bmc.ts";

export function muxOf(t: Pick<TestContext, "after">): Mux {
  const mux = openMux();
  t.after(() => mux.close());
  return mux;
}

/** A BMC that is played, on a real socket until the test ends. */
export async function udpBmc(
  t: TestContext,
  fault: Partial<BmcOptions> = {},
  options: {
    readonly address?: string;
    /** Answers from another socket than it was asked on, as somebody else would. */
    readonly answerFrom?: string;
    /** From there only what names a session. */
    readonly onlyNamed?: boolean;
    readonly delay?: number;
  } = {},
) {
  const { address = "127.0.0.1", answerFrom, onlyNamed = false, delay = 0 } = options;
  const bmc = simBmc(fault);
  const type = address.includes(":") ? "udp6" : "udp4";
  const socket = createSocket(type).bind(0, address);
  await once(socket, "listening");
  const other = answerFrom === undefined ? socket : createSocket(type).bind(0, answerFrom);
  if (other !== socket) await once(other, "listening");
  let closed = false;
  socket.on("message", (datagram, from) => {
    const answers = bmc.receive(datagram);
    QUICK.after(delay, () => {
      for (const answer of closed ? [] : answers) {
        const sender = onlyNamed && sessionIdOf(answer) === null ? socket : other;
        sender.send(answer, from.port, from.address);
      }
    });
  });
  t.after(() => {
    closed = true;
    for (const one of new Set([socket, other])) one.close();
  });
  const { port } = socket.address();
  const { user, password } = LOGIN;
  const question: PowerQuestion = {
    bm_node_ids: [1],
    address,
    port,
    user,
    password: () => password,
  };
  return { bmc, question };
}
