// What other guests of the same host took of this machine's processors: a figure measured meanwhile
// says less than one measured in quiet.

import { existsSync, readFileSync } from 'node:fs';

/**
 * All processors' time since the machine started, in ticks of 10 ms, summed over its processors;
 * undefined where there is no /proc.
 */
interface Ticks {
  readonly all: number;
  readonly stolen: number;
}

function ticks(): Ticks | undefined {
  if (!existsSync('/proc/stat')) return undefined;
  // proc(5): user, nice, system, idle, iowait, irq, softirq, steal; what guests of this machine
  // take is counted within user.
  const counts = (readFileSync('/proc/stat', 'utf8').split('\n', 1)[0] as string)
    .trim()
    .split(/\s+/)
    .slice(1, 9)
    .map(Number);
  return { all: counts.reduce((sum, count) => sum + count, 0), stolen: counts[7] ?? 0 };
}

/** Counts from its making on, or from the last `percent`. */
export class Stolen {
  #last = ticks();

  /**
   * How much of all processors' time was stolen since the last call, in percent; NaN where the
   * system does not say.
   */
  percent(): number {
    const before = this.#last;
    const now = ticks();
    this.#last = now;
    if (before === undefined || now === undefined || now.all === before.all) return Number.NaN;
    return (100 * (now.stolen - before.stolen)) / (now.all - before.all);
  }
}
