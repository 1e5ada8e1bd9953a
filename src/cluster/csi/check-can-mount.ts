// Checks that this process may mount volumes.

import { systemMounter } from '#kubelet/index.ts';
import { UserError } from '../user-error.ts';

/** Throws UserError if it may not. `what`: the flag or command that needs it. */
export function checkCanMount(what: string): void {
  if (!systemMounter().available)
    throw new UserError(`${what} mounts volumes, which takes root on Linux`);
}
