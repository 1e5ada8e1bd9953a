// The clock of one component, whose wall-clock time may be wrong. Timers and durations are those of the cluster's
// clock.

import type { Clock } from '#machinery/clock.ts';
import { isComponent } from './selector.ts';

/** How wrong the wall clocks of components are. */
export class ClockSkews {
  readonly #skews = new Set<{ readonly component: string | undefined; readonly byMs: number }>();

  /** `component` undefined: all. Returns a function that sets the clocks right again. */
  add(component: string | undefined, byMs: number): () => void {
    const skew = { component, byMs };
    this.#skews.add(skew);
    return () => this.#skews.delete(skew);
  }

  /** Milliseconds. */
  of(component: string): number {
    let total = 0;
    for (const skew of this.#skews)
      if (skew.component === undefined || isComponent(component, skew.component))
        total += skew.byMs;
    return total;
  }

  /** Returns the clock of a component. */
  clockOf(component: string, clock: Clock): Clock {
    return {
      now: () => (this.#skews.size === 0 ? clock.now() : clock.now() + this.of(component)),
      monotonic: clock.monotonic.bind(clock),
      setTimer: clock.setTimer.bind(clock),
      setInterval: clock.setInterval.bind(clock),
      sleep: clock.sleep.bind(clock),
      ...(clock.polls !== undefined && { polls: clock.polls }),
      ...(clock.atRest !== undefined && { atRest: clock.atRest }),
    };
  }
}
