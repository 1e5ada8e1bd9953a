// Measures the processor time that other guests of the host took from this machine: a figure that
// was measured meanwhile is less reliable.

import { existsSync, readFileSync } from 'node:fs';

/**
 * The time of all processors since the machine started, in ticks of 10 ms, summed over the
 * processors; undefined on a system without /proc.
 */
interface Ticks {
  readonly all: number;
  readonly stolen: number;
}

function ticks(): Ticks | undefined {
  if (!existsSync('/proc/stat')) return undefined;
  // proc(5): user, nice, system, idle, iowait, irq, softirq, steal; the time of this machine's own
  // guests is counted within user.
  const counts = readFileSync('/proc/stat', 'utf8')
    .split('\n', 1)[0]!
    .trim()
    .split(/\s+/)
    .slice(1, 9)
    .map(Number);
  return { all: counts.reduce((sum, count) => sum + count, 0), stolen: counts[7] ?? 0 };
}

/** Counts from its construction, or from the last `percent`. */
export class Stolen {
  #last = ticks();

  /**
   * Returns the part of all processors' time that was stolen since the last call, in percent; NaN
   * on a system that does not count it.
   */
  percent(): number {
    const before = this.#last;
    const now = ticks();
    this.#last = now;
    if (before === undefined || now === undefined || now.all === before.all) return Number.NaN;
    return (100 * (now.stolen - before.stolen)) / (now.all - before.all);
  }
}
