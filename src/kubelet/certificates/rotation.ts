// Decides when a certificate is replaced.

import type { RequestTemplate } from '#api/groups/certificates/v1/make-request.ts';
import type { Random } from '#machinery/random.ts';
import * as wait from '#machinery/wait.ts';
import { type IssuedPair, satisfies } from './issued-pair.ts';

/**
 * Returns the wall-clock time of the next rotation, in milliseconds: at 70 to 90 % of the lifetime,
 * at random, so that nodes that joined together do not ask together. -Infinity: now, because there
 * is no certificate, or it lacks something of the template.
 */
export function rotationDeadline(
  current: IssuedPair | undefined,
  template: RequestTemplate | undefined,
  random: Random,
): number {
  if (current === undefined || (template !== undefined && !satisfies(current, template)))
    return Number.NEGATIVE_INFINITY;
  const lifetimeMs = current.notAfter - current.notBefore;
  return current.notBefore + wait.jitter(random, lifetimeMs, 0.2) - lifetimeMs * 0.3;
}
