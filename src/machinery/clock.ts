// Time for everything. This is the only file that reads the system clock or sets a timer, so that a whole
// cluster can run on a VirtualClock: a test waits a simulated day in milliseconds.

/** A timer that was set. Cancelling one that has fired, or twice, does nothing. */
export interface Timer {
  cancel(): void;
}

export interface Clock {
  /** Wall-clock time in milliseconds since the epoch. May jump when the system's time is set. */
  now(): number;
  /** Monotonic milliseconds from an arbitrary origin: for durations and deadlines, never for timestamps. */
  monotonic(): number;
  /** Runs `callback` once, `delayMs` from now (0 or less: on a later turn of the event loop, never synchronously). */
  setTimer(delayMs: number, callback: () => void): Timer;
  /** Runs `callback` every `intervalMs`, first after one interval. */
  setInterval(intervalMs: number, callback: () => void): Timer;
  /** Resolves after `delayMs`; rejects with the signal's reason as soon as the signal aborts. */
  sleep(delayMs: number, signal?: AbortSignal): Promise<void>;
}
