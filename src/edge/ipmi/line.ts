/** The wire to one BMC, as the sockets give it, or as a test plays it. */
export interface Line {
  /** Sends a datagram. It may be lost; that it could not even be sent, `fault` tells. */
  readonly send: (datagram: Buffer) => void;
  /** What comes from the BMC goes to `handler` from now on; null: nowhere. */
  readonly receive: (handler: ((datagram: Buffer) => void) | null) => void;
  /**
   * Goes on from another local port, as some BMCs hear no second login from the one of the first;
   * from the same where there is none to be had.
   */
  readonly renew: () => Promise<void>;
  /** A number for a login, not 0, that no other session of this process has now. */
  readonly newSession: () => number;
  /**
   * Why the system would not send (`ENETUNREACH`), or what the other side's system said of it
   * (`ECONNREFUSED`: the port is closed), which is heard after `renew` only; null: neither.
   */
  readonly fault: () => string | null;
}

export interface Clock {
  /** Milliseconds since some moment; never goes back. */
  readonly now: () => number;
  /** What the calendar says, for people. */
  readonly date: () => Date;
  /** Calls `run` once, `delay` milliseconds from now. @returns what takes it back */
  readonly after: (delay: number, run: () => void) => () => void;
}

export interface Chance {
  readonly bytes: (length: number) => Buffer;
  /** At least 0, below 1. */
  readonly fraction: () => number;
}
