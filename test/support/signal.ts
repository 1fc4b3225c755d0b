/** A promise that a test resolves when it wants. */
export function signal() {
  let set = (): void => undefined;
  const isSet = new Promise<void>((resolve) => {
    set = resolve;
  });
  return { isSet, set: () => set() };
}
