/** The same for all callers, and stable if a host is added or removed. */
export function destination(node: string, hosts: readonly string[]): string {
  const [first = ""] = hosts;
  let [best, most] = [first, -1];
  for (const host of hosts) {
    const weight = hashOf(`${host}\n${node.toLowerCase()}`);
    if (weight > most) [best, most] = [host, weight];
  }
  return best;
}

/** Each machine has one of the successors. */
export function shareOf(
  host: string,
  nodes: readonly string[],
  targets: readonly string[],
): readonly string[] {
  return targets.includes(host) ? nodes.filter((node) => destination(node, targets) === host) : [];
}

/** FNV-1a with murmur's finish, because similar names must not have similar weights. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
