import { PAYLOAD, parsePacket, plain, unwrap15, wrap15 } from "../../../src/lib/ipmi/wire.ts";
import { simCommands } from "./sim-commands.ts";
import { simLogins } from "./sim-logins.ts";
import type { Nature } from "./sim-nature.ts";

export type SimBmc = ReturnType<typeof simBmc>;

export function simBmc(nature: Nature) {
  const logins = simLogins(nature);
  const commands = simCommands(nature);
  const logged = new Set<number>();
  /** @param port of the sender */
  const receive = (datagram: Buffer, port = 0): readonly Buffer[] => {
    if (nature.dead) return [];
    if (nature.garbage !== null) return [nature.garbage];
    const packet = parsePacket(datagram);
    if (packet === null) {
      const message = unwrap15(datagram);
      return message === null ? [] : commands.capabilities(message).map(wrap15);
    }
    if (!nature.rmcpplus) return [];
    if (packet.type === PAYLOAD.openRequest) {
      if (nature.portOnce && logged.has(port)) return [];
      logged.add(port);
    }
    if (packet.type !== 0) return logins.answer(packet);
    if (packet.session === 0)
      return commands.suites(packet.payload).map((reply) => plain(0, reply));
    const session = logins.session(packet.session);
    if (session === null) return [];
    return commands.answer(session, packet, () => logins.close(packet.session));
  };
  return { logins, commands, receive };
}
