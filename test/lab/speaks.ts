import { connect } from "node:net";

/**
 * Whether a server on this port of 127.0.0.1 answers in its own protocol.
 * @param begins how its first answer begins
 * @param hello what a client sends first, if it does
 */
export function speaks(port: number, begins: string, hello = ""): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => socket.write(hello));
    const end = (answer: boolean): void => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(10_000, () => end(false));
    socket.setEncoding("latin1").once("data", (text: string) => end(text.startsWith(begins)));
    socket.once("error", () => end(false)).once("end", () => end(false));
  });
}
