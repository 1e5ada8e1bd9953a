// The interface by which the kubelet learns of the machine's shutdown and delays it.

export interface InhibitLock {
  /** Lets the machine shut down. Idempotent. */
  release(): void;
}

export interface ShutdownInhibitor {
  /** Returns the longest time by which a lock delays a shutdown, in milliseconds. */
  maxDelay(): Promise<number>;
  /** Asks the machine to allow a longer delay. It may take some time until `maxDelay` returns it. */
  requestMaxDelay(delayMs: number): Promise<void>;
  /** Delays shutdowns from now on, until the lock is released. */
  inhibit(): Promise<InhibitLock>;
  /**
   * Yields true when a shutdown begins, and false when it was cancelled. Ends, or throws, when the
   * connection to the machine is lost.
   */
  watch(signal: AbortSignal): AsyncIterable<boolean>;
}
