// The common part of the controllers of certificate requests: each reconciles every request that is
// new or has changed.

import {
  type CertificateSigningRequest,
  certificateSigningRequests,
} from '#api/groups/certificates/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { reconciled, type ReconcileResult } from '#client/workqueue/index.ts';
import { ControllerBuilder, type QueueConfig } from '../builder.ts';
import type { Controller, ControllerConfig } from '../controller.ts';

export type Request = Immutable<CertificateSigningRequest>;

export interface RequestQueueConfig extends Omit<QueueConfig, 'reconcile'> {
  readonly reconcile: (request: Request, signal: AbortSignal) => Promise<ReconcileResult>;
}

/**
 * Returns the function that runs a controller of requests. A request that is gone is not
 * reconciled.
 */
export function runOnRequests(
  config: ControllerConfig,
  { reconcile, ...queue }: RequestQueueConfig,
): Controller['run'] {
  const builder = new ControllerBuilder(config, {
    ...queue,
    reconcile: (key, signal) => {
      const request = requests.lister.getByKey(key);
      return request === undefined ? Promise.resolve(reconciled) : reconcile(request, signal);
    },
  });
  const requests = builder.for(certificateSigningRequests, { predicate: { delete: false } });
  return builder.complete();
}
