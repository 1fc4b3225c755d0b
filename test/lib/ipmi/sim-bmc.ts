import { PAYLOAD, parsePacket, plain, unwrap15, wrap15 } from "../../../src/lib/ipmi/wire.ts";
import { type SimCommands, simCommands } from "./sim-commands.ts";
import { type SimLogins, simLogins } from "./sim-logins.ts";
import type { Nature } from "./sim-nature.ts";

export interface SimBmc {
  readonly logins: SimLogins;
  readonly commands: SimCommands;
  /** @param port of the sender */
  readonly receive: (datagram: Buffer, port?: number) => readonly Buffer[];
}

export function simBmc(nature: Nature): SimBmc {
  const logins = simLogins(nature);
  const commands = simCommands(nature);
  const logged = new Set<number>();
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
