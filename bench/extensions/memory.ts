// Measures the memory of a server in another process after a garbage collection, by a probe inside
// that process.

import { existsSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { systemClock } from '#machinery/clock.ts';

/** Node's flags that load the probe into the server's process. */
export const MEMORY_FLAGS: readonly string[] = [
  '--expose-gc',
  '--require',
  fileURLToPath(new URL('memory-probe.cjs', import.meta.url)),
];

const TIMEOUT_MS = 60_000;

export interface Memory {
  /**
   * Bytes of the main thread: its JavaScript heap, and the external memory that the heap refers to.
   */
  readonly heapMB: number;
  /**
   * Resident bytes of the process: all threads, with memory that was freed but not returned to the
   * system.
   */
  readonly residentMB: number;
}

export async function memoryOf(pid: number): Promise<Memory> {
  const file = join(tmpdir(), `coxswain-memory-${pid}.json`);
  const deadline = systemClock.monotonic() + TIMEOUT_MS;
  process.kill(pid, 'SIGUSR2');
  while (!existsSync(file)) {
    if (systemClock.monotonic() > deadline)
      throw new Error(`process ${pid} does not say what memory it has`);
    await systemClock.sleep(20);
  }
  const memory = JSON.parse(readFileSync(file, 'utf8')) as Memory;
  rmSync(file);
  return memory;
}
