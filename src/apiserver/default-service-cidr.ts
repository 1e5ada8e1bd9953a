// The ServiceCIDR `kubernetes`: the range that the server gives out cluster IPs from, for all to see.

import { serviceCIDRs } from '../api/networking/v1/index.ts';
import type { Client } from '../client/client.ts';
import { formatTime } from '../client/time.ts';
import * as apierrors from '../machinery/apierrors.ts';
import type { Clock } from '../machinery/clock.ts';
import { deepEqual } from '../machinery/deep.ts';
import type { Logger } from '../machinery/log.ts';

const NAME = 'kubernetes';

export interface DefaultServiceCidrConfig {
  /** As system:masters. */
  readonly client: Client;
  readonly clock: Clock;
  readonly logger: Logger;
  /** One, or one of each family. */
  readonly cidrs: readonly string[];
}

/** Safe to be run at every start. A range of one family gets the other; one that differs otherwise stays, and is not called ready. */
export async function keepDefaultServiceCidr({ client, clock, logger, cidrs }: DefaultServiceCidrConfig): Promise<void> {
  const all = client.resource(serviceCIDRs);
  let range = await all.get(NAME).catch((err: unknown) => {
    if (apierrors.isNotFound(err)) return undefined;
    throw err;
  });
  range ??= await all.create({ metadata: { name: NAME }, spec: { cidrs: [...cidrs] } });
  const present = range.spec.cidrs ?? [];
  if (present.length === 1 && cidrs.length === 2 && present[0] === cidrs[0]) {
    range = await all.update({ ...range, spec: { ...range.spec, cidrs: [...cidrs] } });
  }
  if (!deepEqual(range.spec.cidrs, cidrs)) {
    logger.warn('the ServiceCIDR kubernetes says another range than this server was given', { stored: present, given: cidrs });
    return;
  }
  if (range.status.conditions?.some(({ type }) => type === 'Ready') === true) return;
  const ready = {
    type: 'Ready',
    status: 'True' as const,
    lastTransitionTime: formatTime(clock.now()),
    reason: '',
    message: 'Kubernetes default Service CIDR is ready',
  };
  await all.updateStatus({ ...range, status: { conditions: [...(range.status.conditions ?? []), ready] } });
}
