import type { Acting } from "./apply.ts";

/**
 * The same, with a look before each batch, where the lock is looked at: what it throws keeps the
 * batch from being begun. A nova-compute that somebody starts amid a long load is met so.
 */
export function looking(acting: Acting, look: (() => Promise<void>) | undefined): Acting {
  if (look === undefined) return acting;
  const check = async (): Promise<void> => {
    await acting.lock.check();
    await look();
  };
  return { ...acting, lock: { ...acting.lock, check } };
}
