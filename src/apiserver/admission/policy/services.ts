// What both kinds of policies need of the server that they are part of.

import type { Scheme } from '#api/machinery/scheme.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { Authorizer } from '#apiserver/authorization/authorizer.ts';
import type { Find } from '#apiserver/catalog/find.ts';
import type { Kind } from '#apiserver/catalog/kind.ts';
import type { CelMetrics } from './cel-metrics.ts';
import type { PolicyMetrics } from './metrics.ts';

export interface PolicyServices {
  readonly find: Find;
  /** All that there is, whether or not clients are told of it. */
  readonly served: () => readonly Kind[];
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
