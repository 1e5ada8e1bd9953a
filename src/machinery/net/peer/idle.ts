// Detects connections without traffic.

import type { Duplex } from 'node:stream';

import type { Clock, Timer } from '#machinery/clock.ts';

/** The byte counters of sockets. */
interface Counted {
  readonly bytesRead?: number;
  readonly bytesWritten?: number;
}

const NEVER: Timer = { cancel: () => undefined };

/**
 * Calls `onIdle` once, when no byte was read or written for `idleMs`. The call may come up to
 * `idleMs` later, since the counters are read only when the timer fires. Costs nothing per byte.
 * In-memory streams have no counters and are not watched: their other end is in this process and
 * has its own time limits.
 */
export function watchIdle(
  clock: Clock,
  connection: Duplex,
  idleMs: number,
  onIdle: () => void,
): Timer {
  const { bytesRead } = connection as Duplex & Counted;
  if (bytesRead === undefined) return NEVER;
  const traffic = (): number => {
    const counted = connection as Duplex & Counted;
    return (counted.bytesRead ?? 0) + (counted.bytesWritten ?? 0);
  };
  let seen = traffic();
  const check = (): void => {
    const now = traffic();
    if (now === seen) {
      onIdle();
      return;
    }
    seen = now;
    timer = clock.setTimer(idleMs, check);
  };
  let timer = clock.setTimer(idleMs, check);
  return { cancel: () => timer.cancel() };
}
