// Tracks the use of tokens in Secrets: when tracking began, and the day of each token's last use.
// So unused tokens can be found and removed.

import { configMaps, secrets } from '#api/groups/core/v1/index.ts';
import type { Client } from '#client/client.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';

/** The label of a Secret with the day on which its token was last used. */
export const LAST_USED_LABEL = 'kubernetes.io/legacy-token-last-used';
/**
 * The label of a Secret with the day since which its token is rejected. The Secret is deleted
 * later.
 */
export const INVALID_SINCE_LABEL = 'kubernetes.io/legacy-token-invalid-since';

const NAMESPACE = 'kube-system';
const NAME = 'kube-apiserver-legacy-service-account-token-tracking';
const DAY = /^\d{4}-\d\d-\d\d$/;

export interface UsedSecret {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** Returns the day in UTC, such as '2026-01-31'. */
export function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

/** Records since when uses are tracked. Every start may call this. */
export async function keepTokenTracking(client: Client, clock: Clock): Promise<void> {
  const inSystem = client.resource(configMaps).namespace(NAMESPACE);
  const today = dayOf(clock.now());
  try {
    const { data } = await inSystem.get(NAME);
    const since = data?.['since'] ?? '';
    // A text that is not a date, or a date in the future, is replaced.
    if (DAY.test(since) && since <= today) return;
    await inSystem.patch(NAME, 'application/merge-patch+json', { data: { since: today } });
  } catch (error) {
    if (!apierrors.isNotFound(error)) throw error;
    await inSystem
      .create({ metadata: { name: NAME }, data: { since: today } })
      .catch((error: unknown) => {
        // Another server has created it first.
        if (!apierrors.isAlreadyExists(error)) throw error;
      });
  }
}

/** Records that the token of a Secret was used on a day. Does not fail; errors are logged. */
export function noteTokenUse(
  client: Client,
  logger: Logger,
  { namespace, name, uid }: UsedSecret,
  day: string,
): void {
  const patch = { metadata: { uid, labels: { [LAST_USED_LABEL]: day } } };
  client
    .resource(secrets)
    .namespace(namespace)
    .patch(name, 'application/merge-patch+json', patch)
    .catch((error: unknown) => {
      if (apierrors.isNotFound(error) || apierrors.isConflict(error)) return;
      logger.warn('recording the use of a token failed', {
        secret: `${namespace}/${name}`,
        err: error,
      });
    });
}
