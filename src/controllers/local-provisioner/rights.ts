// Waits for the controller's rights. Only Coxswain's API server makes its role; on a server of
// another maker the provisioner is off until an administrator makes one.

import { selfSubjectAccessReviews } from '#api/groups/authorization/v1/index.ts';
import { errorMessage } from '#machinery/error-message.ts';
import type { ControllerConfig } from '../controller.ts';

/** The time in ms between two reviews. */
const PERIOD_MS = 10_000;
/** The time in ms after a review that failed. */
const ERROR_PERIOD_MS = 1000;
/** The role has this right, which no other role gives to the controller's ServiceAccount. */
const RIGHT = { group: 'storage.k8s.io', resource: 'storageclasses', verb: 'create' };

/**
 * Resolves when the server grants the rights, or the signal aborts. The lack of rights is logged
 * once. A review that fails is repeated.
 */
export async function waitForRights(
  { client, clock, logger }: Pick<ControllerConfig, 'client' | 'clock' | 'logger'>,
  signal: AbortSignal,
): Promise<void> {
  const reviews = client.resource(selfSubjectAccessReviews);
  let logged = '';
  const log = (message: string): void => {
    if (message !== logged) logger.info(message);
    logged = message;
  };
  while (!signal.aborted) {
    let pauseMs = PERIOD_MS;
    try {
      const { status } = await reviews.create({ spec: { resourceAttributes: RIGHT } }, { signal });
      if (status.allowed) return;
      log('local provisioner: off, since the API server has no role for it');
    } catch (error) {
      if (signal.aborted) return;
      log(`local provisioner: its rights are unknown, retrying: ${errorMessage(error)}`);
      pauseMs = ERROR_PERIOD_MS;
    }
    // It rejects only when the signal aborts, which ends the loop.
    await clock.sleep(pauseMs, signal).catch(() => undefined);
  }
}
