import { open, seal } from "../../../src/lib/ipmi/crypto.ts";
import { checksum, type Packet } from "../../../src/lib/ipmi/wire.ts";
import type { SimSession } from "./sim-logins.ts";
import type { Nature } from "./sim-nature.ts";

export function simCommands(nature: Nature) {
  const seen: string[] = [];
  let busy = 0;
  let forms = 0;
  let listAsked = 0;
  let isSilent = false;
  let sequence = 0;

  const reply = (message: Buffer, code: number, data: readonly number[] = []): Buffer => {
    const [, netFn = 0, , , rqSeq = 0, cmd = 0] = message;
    const head = [0x81, netFn + 4];
    const rest = [0x20, rqSeq, cmd, code, ...data];
    const wrong = nature.checksumsWrong ? 1 : 0;
    return Buffer.from([
      ...[...head, checksum(Buffer.from(head)) ^ wrong],
      ...[...rest, checksum(Buffer.from(rest))],
    ]);
  };

  const work = (message: Buffer, close: () => void): Buffer | null => {
    const name = `${(message[1] ?? 0) >> 2}/${(message[5] ?? 0).toString(16)}`;
    seen.push(name);
    switch (name) {
      case "6/3b":
        return (message[6] ?? 0) > nature.level
          ? reply(message, 0x81)
          : reply(message, 0, [message[6] ?? 0]);
      case "0/1":
        if (busy++ < nature.busy.times) return reply(message, nature.busy.code);
        return reply(message, 0, [nature.power === "on" ? 0x61 : 0x60, 0, 0x40]);
      case "6/1":
        if (nature.deviceSilent) return null;
        return reply(message, 0, [0x20, 1, 9, 0x08, 2, 0x9f, 0x91, 0x12, 0, 2, 0x0f, 0, 0, 0, 0]);
      case "6/3c":
        close();
        return reply(message, 0);
      default:
        return reply(message, 0xc1);
    }
  };

  return {
    seen: () => seen,
    listAsked: () => listAsked,
    capabilities(message: Buffer): readonly Buffer[] {
      if (message[5] !== 0x38) return [];
      isSilent = false;
      const two = ((message[6] ?? 0) & 0x80) !== 0;
      const form = forms++ >= nature.formTimes ? "answers" : two ? nature.form2 : nature.form15;
      if (form === "silent") return [];
      if (form === "cut") return [reply(message, 0, [1])];
      if (typeof form === "number") return [reply(message, form)];
      const has2 = nature.ipmi2 && (two || form === "has 2.0 bits");
      const status = (nature.kg === null ? 0 : 0x20) | (nature.nullUsers ? 0x03 : 0x04);
      const types = 0x15 | (has2 ? 0x80 : 0);
      return [reply(message, 0, [1, types, status, nature.ipmi2 ? 3 : 1, 0, 0, 0, 0])];
    },
    suites(message: Buffer): readonly Buffer[] {
      if (message[5] !== 0x54) return [];
      listAsked += 1;
      isSilent = nature.silentAfterList;
      if (nature.listed === null) return [];
      const list = nature.listed.flatMap((id) => [0xc0, id, id === 0 ? 0 : 1, 0x41, 0x81]);
      const from = nature.listRepeats ? 0 : ((message[8] ?? 0) & 0x3f) * 16;
      return [reply(message, 0, [1, ...list.slice(from, from + 16)])];
    },
    answer(session: SimSession, packet: Packet, close: () => void): readonly Buffer[] {
      const message = open(session.suite, session.keys, packet);
      const response = message === null ? null : work(message, close);
      if (response === null || isSilent) return [];
      const to = { suite: session.suite, keys: session.keys, session: session.console };
      return [seal(to, ++sequence, response, Buffer.alloc(16, sequence))];
    },
  };
}
