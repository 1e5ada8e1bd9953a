// Measures how long work occupies the event loop of this process, and how much memory the work
// takes.

import { existsSync, readFileSync } from 'node:fs';
import { getHeapStatistics } from 'node:v8';

export interface LoopUse {
  /** The longest turn of the event loop, in milliseconds of processor time. */
  readonly longestTurnMs: number;
  /**
   * The peak of additional memory in use (heap and buffers), in bytes. Garbage counts until it is
   * collected.
   */
  readonly peakBytes: number;
}

const SCHEDULER_STATISTICS = '/proc/thread-self/schedstat';
const hasThreadTimes = existsSync(SCHEDULER_STATISTICS);

/**
 * Returns the processor time of this thread in ms: what other processes, the threads that parse YAML,
 * and those of V8 compute is not in it. Without /proc it is that of the process.
 */
function cpuMs(): number {
  if (hasThreadTimes) return Number(readFileSync(SCHEDULER_STATISTICS, 'utf8').split(' ')[0]) / 1e6;
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/**
 * Runs `work` and measures the turns of the event loop meanwhile. A turn counts as its processor
 * time, which is not more than its time by the clock.
 */
export async function loopUse(work: () => Promise<unknown>): Promise<LoopUse> {
  const before = memory();
  let longestTurnMs = 0;
  let peakBytes = 0;
  let running = true;
  let began = 0;
  const look = (): void => {
    longestTurnMs = Math.max(longestTurnMs, cpuMs() - began);
    peakBytes = Math.max(peakBytes, memory() - before);
    if (!running) return;
    began = cpuMs();
    setImmediate(look);
  };
  // The first turn begins with the work.
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
  began = cpuMs();
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

/** The first major version of Node that needs less time for the work of `machineFactor`. */
const FASTER_NODE = 26;

/**
 * The duration of the work of `machineFactor` on the machine that budgets are for, in milliseconds
 * of processor time, when the machine is idle. It takes 34 to 38 with Node 20, 22 and 24.
 */
const NOMINAL_MS = Number(process.versions.node.split('.')[0]) < FASTER_NODE ? 36 : 27;

const KEYS = Array.from({ length: 49_000 }, (_, i) => `key-${i}`);

/**
 * Returns how many times slower this machine is at this moment than the machine that budgets are
 * for: 1 if it is as fast or faster. Measured with a main work of expensive requests: copying maps
 * with many keys, which is bound by the memory bandwidth that all processes share. Not with JSON,
 * whose time depends more on the version of Node.
 */
export function machineFactor(): number {
  let best = Infinity;
  for (let attempt = 0; attempt < 3; attempt++) {
    const began = cpuMs();
    copyMap();
    best = Math.min(best, cpuMs() - began);
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
