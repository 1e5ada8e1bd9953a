// The handler chain of every request, from the outside in. In-process requests use the same chain;
// they carry their user, so authentication has nothing to do.

import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { Authenticator } from './authentication/authenticator.ts';
import type { Authorizer } from './authorization/authorizer.ts';
import { authentication, type AnonymousRequests } from './filters/authentication.ts';
import { authorization } from './filters/authorization.ts';
import type { Deadlines } from './filters/deadline.ts';
import { impersonation } from './filters/impersonation/index.ts';
import { panicRecovery } from './filters/panic-recovery.ts';
import { requestInfo } from './filters/request-info.ts';
import { strictTransportSecurity } from './filters/strict-transport-security.ts';
import type { RequestMetrics } from './endpoints/request-metrics.ts';
import type { Filter, Handler } from './request.ts';

export interface HandlerChainConfig {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: RequestMetrics;
  readonly deadlines: Deadlines;
  readonly authenticators: readonly Authenticator[];
  readonly anonymous?: AnonymousRequests;
  readonly authorizer: Authorizer;
  /** Limits the requests in flight: priority and fairness, or one limit for all. */
  readonly limits: Filter;
  /** Record requests, and those whose credentials are rejected. Absent: there is no audit log. */
  readonly audit?: { readonly requests: Filter; readonly failedAuthentication: Filter };
  /** Stages of parts that other modules serve, before authentication. */
  readonly mounts?: readonly Filter[];
  /** Directives of a header of every response. Default: none. */
  readonly strictTransportSecurity?: readonly string[];
}

/**
 * Builds the chain. `registry` handles requests after authorization: decoding, admission (mutating,
 * validation, validating), and the store.
 */
export function buildHandlerChain(config: HandlerChainConfig, registry: Handler): Handler {
  // Read from the bottom up: the last filter is the first that a request enters.
  let handler = registry;
  handler = authorization(config.authorizer)(handler);
  handler = config.limits(handler);
  handler = impersonation(config.authorizer)(handler);
  if (config.audit !== undefined) handler = config.audit.requests(handler);
  handler = authentication(config.authenticators, config.anonymous)(handler);
  if (config.audit !== undefined) handler = config.audit.failedAuthentication(handler);
  for (const mount of config.mounts ?? []) handler = mount(handler);
  handler = config.deadlines.filter(handler);
  // The deadline filter needs the request info: the path shows whether a request is long-running,
  // and so has no deadline.
  handler = requestInfo(handler);
  handler = panicRecovery(config.logger)(handler);
  const { strictTransportSecurity: directives = [] } = config;
  if (directives.length > 0) handler = strictTransportSecurity(directives)(handler);
  handler = config.metrics.filter(handler);
  return handler;
}
