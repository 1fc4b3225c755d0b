const undos = new Set<() => void>();

/**
 * Runs `undo` when this process exits or handles a signal, to remove temporary files and child
 * processes. The returned function cancels it. `undo` must be synchronous. It does not run after
 * SIGKILL.
 */
export function atExit(undo: () => void): () => void {
  if (undos.size === 0) process.once("exit", undoAll);
  undos.add(undo);
  return () => {
    undos.delete(undo);
    if (undos.size === 0) process.off("exit", undoAll);
  };
}

function undoAll(): void {
  for (const undo of undos) {
    try {
      undo();
    } catch {
      // Continue with the next one.
    }
  }
}
