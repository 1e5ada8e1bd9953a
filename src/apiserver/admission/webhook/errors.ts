// The errors of a webhook call. Any other error is a StatusError, which rejects the request
// whatever the webhook's failure policy.

import type { Status } from '#machinery/apierrors.ts';
import { quote } from '#machinery/text/go-format.ts';

/**
 * The webhook could not be called, or its response is not a valid review. The failure policy
 * decides.
 */
export class CallingWebhookError extends Error {
  override readonly name = 'CallingWebhookError';
  /** The HTTP status code for metrics. */
  readonly code: number;

  constructor(
    webhook: string,
    reason: string,
    code: number,
    options?: { readonly cause?: unknown },
  ) {
    super(`failed calling webhook ${quote(webhook)}: ${reason}`, options);
    this.code = code;
  }
}

/** The webhook has rejected the request. */
export class WebhookRejectionError extends Error {
  override readonly name = 'WebhookRejectionError';
  readonly status: Status;

  constructor(status: Status) {
    super(status.message ?? '');
    this.status = status;
  }
}
