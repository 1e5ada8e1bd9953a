// Ports for programs that must be given one, and cannot choose a free one by themselves.

import { createServer } from 'node:net';
import { systemRandom } from '../../random.ts';

/**
 * Ports are taken below the ranges from which systems choose those of outgoing connections (Linux:
 * 32768–60999) and of node ports (30000–32767): nothing takes one between the check and the
 * program's start, unless two callers draw the same number.
 */
const FIRST = 10_000;
const END = 30_000;

/** Returns that many different TCP ports that are unused on all addresses of this machine. */
export async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  while (ports.size < count) {
    const port = FIRST + systemRandom.int(END - FIRST);
    if (!ports.has(port) && (await isFree(port))) ports.add(port);
  }
  return [...ports];
}

/** Returns a TCP port that is unused on all addresses of this machine. */
export const freePort = async (): Promise<number> => (await freePorts(1))[0]!;

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, () => server.close(() => resolve(true)));
  });
}
