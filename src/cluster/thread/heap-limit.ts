// The limit of the heap of a thread with many objects.

import { totalmem } from 'node:os';

const MIB = 2 ** 20;
/** The part of the memory that the heap may take. The API server's objects are outside of it. */
const SHARE = 0.75;

/**
 * Returns the limit in MiB, by the memory that this process may use. V8's own limit is 4 GiB
 * however much there is, which the components of some 300,000 pods exceed. A limit takes no memory.
 * The flag --max-old-space-size of Node has precedence.
 */
export function heapLimitMb(
  machineBytes: number = totalmem(),
  /** The limit of the container or the service. 0 or undefined: there is none. */
  allowedBytes: number | undefined = process.constrainedMemory(),
): number {
  const bytes = allowedBytes ? Math.min(machineBytes, allowedBytes) : machineBytes;
  return Math.floor((bytes * SHARE) / MIB);
}
