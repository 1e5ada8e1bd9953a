// The error of webhook calls.

import type { Status } from '#machinery/apierrors.ts';

/**
 * A webhook could not be called, or its response is invalid. The message is upstream's: 'Post
 * "https://…?timeout=10s": EOF'.
 */
export class WebhookCallError extends Error {
  override readonly name = 'WebhookCallError';
  /** The webhook's own error, if its response had the status code of an error. */
  readonly status: Status | undefined;
  /** The configuration does not allow a call: no connection was tried. */
  readonly misconfigured: boolean;

  constructor(
    message: string,
    options: {
      readonly status?: Status;
      readonly misconfigured?: boolean;
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, { cause: options.cause });
    this.status = options.status;
    this.misconfigured = options.misconfigured ?? false;
  }
}
