// Measures the heaps of all threads of a server in another process after a garbage collection, by a
// probe inside that process.

import { existsSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { systemClock } from '#machinery/clock.ts';

/** Node's flags that load the probe into the server's process. */
export const HEAP_FLAGS: readonly string[] = [
  '--expose-gc',
  '--require',
  fileURLToPath(new URL('heap-probe.cjs', import.meta.url)),
];

const TIMEOUT_MS = 600_000;
const POLL_MS = 50;

interface ThreadHeap {
  /** The JavaScript heap, in MB (10^6 bytes). */
  readonly heapMB: number;
  /** Memory outside of it that the heap refers to: the bytes of stored objects. */
  readonly externalMB: number;
}

export interface Heaps {
  readonly main: ThreadHeap;
  /** The worker threads: the store's writer, and the components in a cluster of several nodes. */
  readonly threads: readonly ThreadHeap[];
  readonly residentMB: number;
}

/** Returns the heaps. Throws if the process does not report within ten minutes. */
export async function heapsOf(pid: number): Promise<Heaps> {
  const file = join(tmpdir(), `coxswain-heaps-${pid}.json`);
  const deadline = systemClock.monotonic() + TIMEOUT_MS;
  process.kill(pid, 'SIGUSR2');
  while (!existsSync(file)) {
    if (systemClock.monotonic() > deadline)
      throw new Error(`process ${pid} does not report its heaps`);
    await systemClock.sleep(POLL_MS);
  }
  const heaps = JSON.parse(readFileSync(file, 'utf8')) as Heaps;
  rmSync(file);
  return heaps;
}

/** Returns the bytes of all threads, heap and external, in MB. */
export function totalMB({ main, threads }: Heaps): number {
  return [main, ...threads].reduce((sum, each) => sum + each.heapMB + each.externalMB, 0);
}
