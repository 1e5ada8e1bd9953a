// Measures for how long work keeps the event loop of this process from anything else, and how much
// memory it takes meanwhile.

import { getHeapStatistics } from 'node:v8';

export interface LoopUse {
  /** The longest turn of the event loop, in milliseconds of work. */
  readonly longestTurnMs: number;
  /**
   * How much more memory (heap and buffers) was in use at its most, in bytes. Garbage counts until
   * it is collected.
   */
  readonly peakBytes: number;
}

/**
 * Runs `work` and measures the turns of the event loop meanwhile. A turn counts as the smaller of
 * its wall time and of the CPU time of the process: other processes make only the one longer, other
 * threads only the other.
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
  // Without the resident size, which takes far longer to find out.
  const { used_heap_size: heap, external_memory: external } = getHeapStatistics();
  return heap + external;
}

/**
 * How long the work of `machineFactor` takes on the machine for which budgets are, in milliseconds
 * of CPU time, when nothing else runs.
 */
const NOMINAL_MS = 50;

const TEXT = JSON.stringify(
  Array.from({ length: 20_000 }, (_, i) => ({ name: `name-${i}`, value: i, list: [i, 'x'] })),
);
const KEYS = Array.from({ length: 49_000 }, (_, i) => `key-${i}`);

/**
 * Returns by how much this machine is slower at this moment than the one for which budgets are: 1
 * if it is as fast or faster. Measured with what expensive requests do most: reading and writing
 * JSON, and copying maps with many keys, which is bound by the memory that all processes share.
 */
export function machineFactor(): number {
  let best = Infinity;
  for (let attempt = 0; attempt < 3; attempt++) {
    const cpu = process.cpuUsage();
    const wall = performance.now();
    JSON.stringify(JSON.parse(TEXT));
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
  for (const key of Object.keys(map)) copy[key] = map[key] as string;
  let same = 0;
  for (const key in copy) if (Object.hasOwn(map, key)) same++;
  return same;
}
