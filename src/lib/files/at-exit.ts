const undos = new Set<() => void>();

/**
 * Runs `undo` when this process ends by itself or by a signal it handles, unless the function that
 * is given back was called before: what stands on the disk or runs beside us must not outlive us.
 * It has to be done when it returns. After SIGKILL nothing runs.
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
      // The next one still has its turn.
    }
  }
}
