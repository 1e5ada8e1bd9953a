// An open frontend of the userspace proxy.

import type { Route } from './frontends.ts';

export interface Listener {
  /** Sets the destination of new connections and datagrams. */
  setRoute(route: Route): void;
  /** Accepts nothing new. `connections`: also closes open connections. */
  close(connections: boolean): Promise<void>;
}
