import { EXIT_STATUS } from "../exit.ts";
import type { Refusal } from "./kind.ts";

const { denied, failed, halfway, locked, refused } = EXIT_STATUS;

/** N2I-E216, E217 and E318: a database that is silent, or was when it mattered; E219: one that counts wrong. */
export const DATABASE = {
  "N2I-E216": {
    exit: failed.status,
    title: "a database gives no answer in time",
    why: "It took the statement, or the connection, and was silent for --db-timeout seconds.",
    fix: "Look what the server is doing (SHOW PROCESSLIST, pg_stat_activity) and whether the network is up, then run the same command again.",
  },
  "N2I-E223": {
    exit: denied.status,
    title: "a server wants the password in clear",
    why: "The line is not encrypted, and whoever answers there would have the password; it was not sent.",
    fix: "Turn TLS on at the server, or let it ask by scram-sha-256 (pg_hba.conf). sslmode=disable in the address sends it all the same.",
  },
  "N2I-E217": {
    exit: halfway.status,
    title: "a COMMIT was not answered",
    why: "The server may have kept the batch, may have dropped it, or may still be at it.",
    fix: "Run the same command again, or rollback: each waits until the server has ended that transaction, then looks at the rows.",
  },
  "N2I-E318": {
    exit: locked.status,
    title: "a transaction of another run has not ended",
    why: "Its client is gone or does not answer, and the server still works on it: a COMMIT that waits for a standby can add rows later.",
    fix: "Bring the standby back or free the disk; or end that session on the server (pg_terminate_backend, KILL). Then run the same command again.",
  },
  "N2I-E219": {
    exit: refused.status,
    title: "a sequence of PostgreSQL is behind its table",
    why: "Rows were copied with their ids and the sequence was not, so the server would give out ids that are taken.",
    fix: "As the owner of the table: SELECT setval(pg_get_serial_sequence('TABLE', 'id'), (SELECT max(id) FROM TABLE)); then run the same command again.",
  },
} as const satisfies Record<string, Refusal>;
