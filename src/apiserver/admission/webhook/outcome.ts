// Decides by the outcome of a call whether the request continues, and counts it.

import * as apierrors from '#machinery/apierrors.ts';
import type { AdmissionAttributes } from '../plugin.ts';
import type { Hook } from './configurations.ts';
import { CallingWebhookError, WebhookRejectionError } from './errors.ts';
import type { RejectionError } from './metrics.ts';
import type { WebhookServices } from './services.ts';

const OK = 200;
const ALLOTTED = 'request did not complete within the allotted timeout';

/**
 * Calls a webhook by `call` and resolves with its value; undefined if the call failed and the
 * webhook's failure policy is Ignore. Rejects with StatusError, which rejects the request.
 */
export async function decided<T>(
  hook: Hook,
  attributes: AdmissionAttributes,
  services: WebhookServices,
  call: () => Promise<T>,
): Promise<T | undefined> {
  const { clock } = services;
  const started = clock.monotonic();
  const observe = (code: number, rejection?: RejectionError | 'caller has gone'): void => {
    services.webhookMetrics.observeCall({
      name: hook.webhook.name,
      type: hook.type,
      operation: attributes.operation,
      seconds: (clock.monotonic() - started) / 1000,
      code,
      rejected: rejection !== undefined,
      ...(rejection !== undefined && rejection !== 'caller has gone' && { rejection }),
    });
  };
  try {
    const value = await call();
    observe(OK);
    return value;
  } catch (error) {
    if (error instanceof CallingWebhookError)
      return failed(hook, attributes, services, error, observe);
    if (error instanceof WebhookRejectionError) {
      observe(error.status.code ?? 0, 'no_error');
      throw apierrors.fromStatus(error.status, { cause: error });
    }
    observe(0, 'apiserver_internal_error');
    throw error;
  }
}

function failed(
  { webhook, type }: Hook,
  { caller }: AdmissionAttributes,
  { logger, clock, webhookMetrics }: WebhookServices,
  error: CallingWebhookError,
  observe: (code: number, rejection?: RejectionError | 'caller has gone') => void,
): undefined {
  const isAborted = caller?.signal.aborted === true;
  const late = caller?.deadlineMs !== undefined && clock.monotonic() >= caller.deadlineMs;
  if (webhook.failurePolicy !== 'Ignore') {
    observe(error.code, isAborted ? 'caller has gone' : 'calling_webhook_error');
    logger.warn('failed calling webhook, failing closed', { webhook: webhook.name, err: error });
    // The client gets the error of its own timeout, not of the webhook's.
    throw late ? apierrors.timeoutError(ALLOTTED) : apierrors.internalError(error.message);
  }
  observe(error.code);
  logger.warn('failed calling webhook, failing open', { webhook: webhook.name, err: error });
  if (!isAborted) webhookMetrics.observeFailOpen(webhook.name, type);
  if (late) throw apierrors.timeoutError(ALLOTTED);
  if (isAborted) throw apierrors.timeoutError('request did not complete within requested timeout');
  return undefined;
}
