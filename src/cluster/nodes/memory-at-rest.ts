// Gives memory back to the system when a kubelet has come to rest. V8 collects the garbage of a busy
// time only when new objects need its place, so a kubelet that has started many pods would keep
// three times of what it needs. A collection stops the process: servers of many clients go without.

import { Session } from 'node:inspector/promises';
import { memoryUsage } from 'node:process';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';

/** Measures a process, and collects its garbage. */
export interface ProcessMemory {
  /** Returns the processor time so far, in ms. */
  cpuMs(): number;
  /** Returns the bytes that the heap has of the system, used or not. */
  heapBytes(): number;
  /** Collects all garbage and gives free pages back. */
  collect(): Promise<void>;
}

/** The process that this module is loaded in. */
export const thisProcess: ProcessMemory = {
  cpuMs() {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1000;
  },
  heapBytes: () => memoryUsage().heapTotal,
  async collect() {
    // The only public interface that also shrinks the space of young objects.
    const session = new Session();
    session.connect();
    try {
      await session.post('HeapProfiler.collectGarbage');
    } finally {
      session.disconnect();
    }
  },
};

const LOOK_MS = 30_000;
/** A process that uses less of a core is at rest. */
const REST_SHARE = 0.1;
/** Growth since the last collection that is worth another one. */
const WORTH_BYTES = 48 * 2 ** 20;
/** A collection stops the process for 2 ms per MB that is alive: larger heaps are left alone. */
const MOST_BYTES = 512 * 2 ** 20;

/** Looks at the process from time to time, until the returned function is called. */
export function giveMemoryBack(
  clock: Clock,
  logger: Logger,
  memory: ProcessMemory = thisProcess,
): () => void {
  let cpu = memory.cpuMs();
  let atLast = 0;
  let collecting = false;
  const collect = async (): Promise<void> => {
    collecting = true;
    await memory.collect();
    atLast = memory.heapBytes();
    // The collection is not counted as work.
    cpu = memory.cpuMs();
    collecting = false;
  };
  const look = (): void => {
    if (collecting) return;
    const now = memory.cpuMs();
    const share = (now - cpu) / LOOK_MS;
    cpu = now;
    const bytes = memory.heapBytes();
    if (share > REST_SHARE || bytes > MOST_BYTES || bytes < atLast + WORTH_BYTES) return;
    collect().catch((error: unknown) => {
      timer.cancel();
      logger.warn('memory is not given back', { err: error });
    });
  };
  const timer = clock.setInterval(LOOK_MS, look);
  return () => timer.cancel();
}
