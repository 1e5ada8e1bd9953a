// The announcer's interface to this machine.

import type { Announcement } from './decide.ts';

export interface AnnouncedAddresses {
  /** Returns the announced addresses of this machine, including those of an earlier process. */
  held(): Promise<ReadonlySet<string>>;
  /**
   * Adds the address to the machine, and announces it on its link. Idempotent. 'in use': another
   * machine answers for it; with `force` it is taken over nevertheless. 'no link': no interface of
   * this machine leads to it.
   */
  add(
    address: string,
    options: { readonly force: boolean },
  ): Promise<'added' | 'in use' | 'no link'>;
  /** Removes the address. Idempotent. */
  remove(address: string): Promise<void>;
  /** Blocks access to everything on this machine at the addresses, except the services' ports. */
  protect(announcements: readonly Announcement[]): Promise<void>;
}
