/** Frozen, because scripts rely on them. A test compares the table in src/manual/scripts.md. */
export const EXIT_STATUS = {
  done: { status: 0, meaning: "done, nothing to do, or equal" },
  failed: { status: 1, meaning: "failed. The target is unchanged or restored" },
  differs: {
    status: 2,
    meaning:
      "changes (`plan --detailed-exitcode`, `config`), differences (`verify`), rows left (`rollback`), too few spares (`node list --need`)",
  },
  partial: { status: 3, meaning: "partly done. Each skipped machine is listed" },
  refused: { status: 4, meaning: "refused: stale plan, wrong target, blocked or not confirmed" },
  halfway: { status: 5, meaning: "failed midway. The journal has the completed changes" },
  empty: {
    status: 6,
    meaning: "the plan does not load any machine, and some are blocked or in conflict. It is saved",
  },
  locked: { status: 11, meaning: "another run holds the lock" },
  denied: { status: 12, meaning: "authentication failed or a privilege is missing" },
  usage: { status: 64, meaning: "the command line, a document or a configuration is wrong" },
  bug: { status: 70, meaning: "internal error. Please report it" },
  interrupted: { status: 130, meaning: "stopped by Ctrl-C. Run the same command to resume" },
  unread: {
    status: 141,
    meaning: "the reader of its output closed the pipe. Nothing else was being written",
  },
  terminated: {
    status: 143,
    meaning:
      "stopped by SIGTERM, or its terminal or the reader of its output was lost. Run the same command to resume",
  },
} as const;

export type ExitName = keyof typeof EXIT_STATUS;

function ending(name: ExitName) {
  const exit: number = EXIT_STATUS[name].status;
  return (title: string, reason: string, fix: string) => ({ exit, title, reason, fix });
}

export const ends = {
  bug: ending("bug"),
  denied: ending("denied"),
  failed: ending("failed"),
  halfway: ending("halfway"),
  locked: ending("locked"),
  refused: ending("refused"),
  usage: ending("usage"),
};
