// What a frontend of the userspace proxy is while it is open.

import type { Route } from './frontends.ts';

export interface Listener {
  /** New connections and datagrams go there from now on. */
  setRoute(route: Route): void;
  /** Nothing new is accepted. `connections`: those that are open are closed as well. */
  close(connections: boolean): Promise<void>;
}
