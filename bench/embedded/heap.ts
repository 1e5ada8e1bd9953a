// The heap of this process, measured after a complete garbage collection.

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Resolves with the megabytes that are alive: objects, and buffers outside of the heap. */
export async function liveMB(): Promise<number> {
  // A finalizer may let go of objects, which the next round collects.
  for (let round = 0; round < 3; round++) {
    collect();
    await new Promise((resolve) => setImmediate(resolve));
  }
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return (heapUsed + arrayBuffers) / 1024 / 1024;
}
