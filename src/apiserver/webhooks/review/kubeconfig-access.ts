// The server of a webhook, from the file of a kubeconfig.

import type { ServerAccess } from '#client/http/index.ts';
import { loadKubeconfig } from '#client/kubeconfig.ts';
import type { Clock } from '#machinery/clock.ts';

/** Returns a function that reads the file once; again, if it could not be read. */
export function kubeconfigAccess(file: string, clock: Clock): () => Promise<ServerAccess> {
  let access: Promise<ServerAccess> | undefined;
  return () =>
    (access ??= loadKubeconfig(file, { clock }).catch((error: unknown) => {
      access = undefined;
      throw error;
    }));
}
