// Decides whether a webhook is called for a request, and in which version it sees the objects.

import * as apierrors from '#machinery/apierrors.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { Evaluation } from '../policy/evaluation.ts';
import { evaluateMatchConditions } from '../policy/match-conditions.ts';
import { matchRequest } from '../policy/matching.ts';
import type { PolicyRequest, ResourceAndKind, VersionedObjects } from '../policy/request.ts';
import { type Hook, hasRules } from './configurations.ts';
import type { WebhookServices } from './services.ts';

export interface Invocation {
  readonly hook: Hook;
  /** The resource and kind that the webhook sees. */
  readonly matched: ResourceAndKind;
  readonly objects: VersionedObjects;
}

/**
 * Returns the invocation; undefined if the webhook does not match the request. Rejects with
 * StatusError if that cannot be decided.
 */
export async function findInvocation(
  hook: Hook,
  request: PolicyRequest,
  services: WebhookServices,
): Promise<Invocation | undefined> {
  if (!hasRules(hook.match)) return undefined;
  let matched;
  try {
    matched = await matchRequest(hook.match, request);
  } catch (error) {
    throw error instanceof apierrors.StatusError
      ? error
      : apierrors.internalError(errorMessage(error));
  }
  if (matched === undefined) return undefined;
  const objects = await versionedObjects(request, matched);
  const invocation = { hook, matched, objects };
  return hook.conditions.length === 0 || (await conditionsHold(invocation, request, services))
    ? invocation
    : undefined;
}

/**
 * Returns the objects in the webhook's version. Rejects with StatusError (500) if they cannot be
 * converted.
 */
async function versionedObjects(
  request: PolicyRequest,
  { kind }: ResourceAndKind,
): Promise<VersionedObjects> {
  try {
    return await request.inVersion(kind);
  } catch (error) {
    throw apierrors.internalError(errorMessage(error));
  }
}

/**
 * Reports whether the match conditions hold. Rejects with Forbidden if a condition fails and the
 * webhook's failure policy is Fail.
 */
async function conditionsHold(
  { hook, matched, objects }: Invocation,
  request: PolicyRequest,
  { authorizer, celMetrics, webhookMetrics, clock }: WebhookServices,
): Promise<boolean> {
  const { webhook, type, conditions } = hook;
  const { operation, resource, name } = request.attributes;
  const started = clock.monotonic();
  const evaluation = new Evaluation({ request, matched, objects, authorizer, metrics: celMetrics });
  const outcome = await evaluateMatchConditions(evaluation, conditions);
  const { problem } = outcome;
  // Upstream records no duration for conditions that all hold.
  if (problem === undefined && outcome.matches) return true;
  webhookMetrics.observeMatch(
    webhook.name,
    type,
    operation,
    (clock.monotonic() - started) / 1000,
    outcome.failures,
  );
  if (problem !== undefined && webhook.failurePolicy !== 'Ignore')
    throw apierrors.forbidden(resource, name, problem);
  webhookMetrics.observeExclusion(webhook.name, type, operation);
  return false;
}
