import { createSocket } from "node:dgram";

/**
 * A BMC that answers whatever it hears with a flood, in a process of its own: the address is the
 * first argument, datagrams a second the next, then the seconds it lasts. It tells what it has sent.
 */
const [address, rate, seconds] = process.argv.slice(2);
const socket = createSocket("udp4");
const datagram = Buffer.from("0600ff07".padEnd(128, "a5"), "hex");
let sent = 0;
socket.once("message", (_, { port, address: to }) => {
  const began = performance.now();
  const pour = (): void => {
    const passed = (performance.now() - began) / 1000;
    if (passed > Number(seconds)) {
      process.stdout.write(`${sent}\n`);
      socket.close();
      return;
    }
    // Without a callback: what the system does not take is not waited for.
    for (const due = passed * Number(rate); sent < due; sent++) socket.send(datagram, port, to);
    setTimeout(pour, 1);
  };
  pour();
});
socket.bind(623, address, () => process.stdout.write("ready\n"));
