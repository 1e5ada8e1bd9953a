// The server's services that both kinds of policies need.

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
  /** Policies apply to all installed kinds, whatever their visibility. */
  readonly catalog: Catalog;
  readonly scheme: Scheme;
  /** The authorizer that expressions can query. */
  readonly authorizer: Authorizer;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Counters and histograms of policies. */
  readonly policyMetrics: { readonly validating: PolicyMetrics; readonly mutating: PolicyMetrics };
  readonly celMetrics: CelMetrics;
  /** Registers a callback for the server's stop. */
  readonly onStop: (callback: () => void) => void;
}
