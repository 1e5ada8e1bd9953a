// Makes this process' API server accept no more connections, so that each goes to a worker.

import { Server } from 'node:net';

/** The handles that keep this process alive; Node has no other way to find a listening socket. */
interface WithHandles {
  _getActiveHandles(): readonly unknown[];
}

/**
 * Closes this process' listening sockets of the port. Workers have their own descriptors of them;
 * one that starts later gets none.
 */
export function onlyWorkersAccept(port: number): void {
  for (const handle of (process as unknown as WithHandles)._getActiveHandles()) {
    if (!(handle instanceof Server)) continue;
    const address = handle.address();
    if (typeof address === 'object' && address?.port === port) handle.close();
  }
}
