// The announcer's interface to this machine.

import type { Announcement } from './decide.ts';

export interface AnnouncedAddresses {
  /**
   * Returns the addresses that this machine has for the announcer, also those that an earlier
   * process has left.
   */
  held(): Promise<ReadonlySet<string>>;
  /**
   * Gives the machine the address, and tells the machines of its link. Idempotent. 'in use':
   * another machine answers for it; with `force` it is taken nevertheless. 'no link': no interface
   * of this machine leads to it.
   */
  add(
    address: string,
    options: { readonly force: boolean },
  ): Promise<'added' | 'in use' | 'no link'>;
  /** Idempotent. */
  remove(address: string): Promise<void>;
  /**
   * Makes sure that at the addresses nothing of this machine is reached but the services' ports.
   */
  protect(announcements: readonly Announcement[]): Promise<void>;
}
