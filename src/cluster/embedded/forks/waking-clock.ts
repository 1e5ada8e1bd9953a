// The clock of a cluster whose components are not running yet.

import { VirtualClock } from '#machinery/clock.ts';

/** Has a function called, and waits for it, before time moves. */
export class WakingClock extends VirtualClock {
  /** Undefined: nothing has to be waited for. */
  beforeMove: (() => Promise<void>) | undefined;

  override async advance(duration: number | string): Promise<void> {
    await this.beforeMove?.();
    return super.advance(duration);
  }

  override async runUntil(
    condition: () => boolean | Promise<boolean>,
    timeout?: number | string,
  ): Promise<void> {
    await this.beforeMove?.();
    return super.runUntil(condition, timeout);
  }

  /** As `advance`, at once. */
  tick(ms: number): Promise<void> {
    return super.advance(ms);
  }
}
