// Measures how long work occupies the event loop of this process, and how much memory the work
// takes.

import { getHeapStatistics } from 'node:v8';

export interface LoopUse {
  /** The longest turn of the event loop, in milliseconds of work. */
  readonly longestTurnMs: number;
  /**
   * The peak of additional memory in use (heap and buffers), in bytes. Garbage counts until it is
   * collected.
   */
  readonly peakBytes: number;
}

/**
 * Runs `work` and measures the turns of the event loop meanwhile. A turn counts as the smaller of
 * its wall time and the CPU time of the process: other processes lengthen only the wall time, other
 * threads only the CPU time.
 */
export async function loopUse(work: () => Promise<unknown>): Promise<LoopUse> {
  const before = memory();
  let longestTurnMs = 0;
  let peakBytes = 0;
  let running = true;
  let wall = performance.now();
  let cpu = process.cpuUsage();
  const look = (): void => {
    const { user, system } = process.cpuUsage(cpu);
    const turn = Math.min(performance.now() - wall, (user + system) / 1000);
    longestTurnMs = Math.max(longestTurnMs, turn);
    peakBytes = Math.max(peakBytes, memory() - before);
    if (!running) return;
    wall = performance.now();
    cpu = process.cpuUsage();
    setImmediate(look);
  };
  // The first turn begins with the work.
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
  wall = performance.now();
  cpu = process.cpuUsage();
  setImmediate(look);
  try {
    await work();
  } finally {
    running = false;
    look();
  }
  return { longestTurnMs, peakBytes };
}

function memory(): number {
  // Leaves out the resident size, which takes far longer to read.
  const { used_heap_size: heap, external_memory: external } = getHeapStatistics();
  return heap + external;
}

/**
 * The duration of the work of `machineFactor` on the machine that budgets are for, in milliseconds
 * of CPU time, when the machine is idle.
 */
const NOMINAL_MS = 36;

const KEYS = Array.from({ length: 49_000 }, (_, i) => `key-${i}`);

/**
 * Returns how many times slower this machine is at this moment than the machine that budgets are
 * for: 1 if it is as fast or faster. Measured with a main work of expensive requests: copying maps
 * with many keys, which is bound by the memory bandwidth that all processes share. Not with JSON,
 * for which Node 26 needs half the time of Node 20.
 */
export function machineFactor(): number {
  let best = Infinity;
  for (let attempt = 0; attempt < 3; attempt++) {
    const cpu = process.cpuUsage();
    const wall = performance.now();
    copyMap();
    const { user, system } = process.cpuUsage(cpu);
    best = Math.min(best, performance.now() - wall, (user + system) / 1000);
  }
  return Math.max(1, best / NOMINAL_MS);
}

function copyMap(): number {
  const map: Record<string, string> = {};
  for (const key of KEYS) map[key] = 'value';
  const copy: Record<string, string> = {};
  for (const key of Object.keys(map)) copy[key] = map[key]!;
  let same = 0;
  for (const key in copy) if (Object.hasOwn(map, key)) same++;
  return same;
}
