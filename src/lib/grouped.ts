/** Keeps the order of the items within each group. */
export function groupedBy<T, K, V>(
  items: Iterable<T>,
  key: (item: T) => K,
  of: (item: T) => V,
): ReadonlyMap<K, readonly V[]> {
  const groups = new Map<K, V[]>();
  for (const item of items) {
    const name = key(item);
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [of(item)]);
    else group.push(of(item));
  }
  return groups;
}

export function grouped<T, K>(
  items: Iterable<T>,
  key: (item: T) => K,
): ReadonlyMap<K, readonly T[]> {
  return groupedBy(items, key, (item) => item);
}
