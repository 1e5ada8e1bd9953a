// What both kinds of policies need of the server that they are part of.

import type { Scheme } from '#api/machinery/scheme.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { Authorizer } from '#apiserver/authorization/authorizer.ts';
import type { Catalog } from '#apiserver/catalog/catalog.ts';
import type { Find } from '#apiserver/catalog/internal-client.ts';
import type { CelMetrics } from './cel-metrics.ts';
import type { PolicyMetrics } from './metrics.ts';

export interface PolicyServices {
  readonly find: Find;
  /** Policies apply to all of its kinds, whatever their visibility. */
  readonly catalog: Catalog;
  readonly scheme: Scheme;
  /** What expressions ask when they ask who may do what. */
  readonly authorizer: Authorizer;
  readonly clock: Clock;
  readonly logger: Logger;
  /** What is counted. */
  readonly policyMetrics: { readonly validating: PolicyMetrics; readonly mutating: PolicyMetrics };
  readonly celMetrics: CelMetrics;
  /** Called back when the server stops. */
  readonly onStop: (callback: () => void) => void;
}
