// Joins two connections byte for byte, as a proxy does after a change of protocol.

import type { Duplex } from 'node:stream';

import type { Clock, Timer } from '#machinery/clock.ts';
import { watchErrors } from './dial.ts';

/** The time in which the second side must end after the first has ended. */
const LINGER_MS = 30_000;

/**
 * Passes bytes in both directions with back-pressure, including a clean end of one direction.
 * Resolves when both connections are closed. An error of one connection destroys the other. After
 * the end of one direction the other has LINGER_MS left.
 */
export async function joinConnections(clock: Clock, a: Duplex, b: Duplex): Promise<void> {
  let linger: Timer | undefined;
  const destroyBoth = (): void => {
    a.destroy();
    b.destroy();
  };
  const onEnd = (): void => {
    linger ??= clock.setTimer(LINGER_MS, destroyBoth);
  };
  const closed = (side: Duplex): Promise<void> =>
    new Promise((resolve) => {
      if (side.closed) resolve();
      else side.once('close', resolve);
    });
  for (const side of [a, b]) {
    watchErrors(side);
    side.once('end', onEnd);
    // A side that ended before it closed is left to the pipe, because data may still be on the way
    // to the other side.
    side.once('close', () => {
      if (!side.readableEnded) destroyBoth();
    });
  }
  if (a.destroyed || b.destroyed) destroyBoth();
  a.pipe(b);
  b.pipe(a);
  await Promise.all([closed(a), closed(b)]);
  linger?.cancel();
}
