// Calls one webhook for one request.

import type { AdmissionResponse } from '#api/groups/admission/v1/index.ts';
import { DecodeError } from '#api/machinery/codec/index.ts';
import { MAX_BODY_VALUES } from '#api/machinery/codec/limits.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { Status } from '#machinery/apierrors.ts';
import { sharedByMany } from '#client/abort.ts';
import { quote } from '#machinery/text/go-format.ts';
import { WebhookCallError } from '#apiserver/webhooks/client/index.ts';
import type { PolicyRequest } from '../policy/request.ts';
import { CallingWebhookError, WebhookRejectionError } from './errors.ts';
import type { Invocation } from './invocation.ts';
import {
  decodeReview,
  InvalidResponseError,
  reviewOf,
  reviewVersionOf,
  verifiedResponse,
} from './review.ts';
import { annotateResponse } from './annotations.ts';
import type { WebhookServices } from './services.ts';

/**
 * The timeout of a webhook whose configuration has none, in seconds. It is also the API's default.
 */
const DEFAULT_TIMEOUT_SECONDS = 10;
/**
 * The maximum size of a response. A patch that replaces the largest possible object, in base64, is
 * shorter.
 */
const MAX_RESPONSE_BYTES = 6 * 1024 * 1024;
const UNAVAILABLE = 503;
const BAD_REQUEST = 400;
const INTERNAL = 500;

/**
 * Calls the webhook. Resolves with a response that allows the request, and adds its warnings to the
 * request's. Rejects with CallingWebhookError, WebhookRejectionError or StatusError.
 */
export async function callWebhook(
  invocation: Invocation,
  request: PolicyRequest,
  services: WebhookServices,
): Promise<Immutable<AdmissionResponse>> {
  const { webhook, type } = invocation.hook;
  const { name, sideEffects } = webhook;
  const { attributes } = request;
  if (attributes.dryRun && sideEffects !== 'None' && sideEffects !== 'NoneOnDryRun') {
    throw apierrors.badRequest(`admission webhook ${quote(name)} does not support dry run`);
  }
  const version = reviewVersionOf(webhook.admissionReviewVersions);
  if (version === undefined) {
    const why = 'webhook does not accept known AdmissionReview versions (v1, v1beta1)';
    throw new CallingWebhookError(name, `could not create admission objects: ${why}`, BAD_REQUEST);
  }
  const uid = services.random.uuid();
  const json = await post(
    invocation,
    reviewOf(version, uid, request, invocation),
    request,
    services,
  );
  let response;
  try {
    response = verifiedResponse(version, type, uid, decodeReview(services.scheme, version, json));
  } catch (error) {
    if (error instanceof DecodeError)
      throw failure(name, `failed to call webhook: ${error.message}`, error);
    if (error instanceof InvalidResponseError)
      throw failure(name, `received invalid webhook response: ${error.message}`, error);
    throw error;
  }
  annotateResponse(attributes, invocation.hook, response);
  attributes.warnings.push(...(response.warnings ?? []));
  if (!response.allowed)
    throw new WebhookRejectionError(rejection(name, response.status as Status | undefined));
  return response;
}

function failure(
  name: string,
  reason: string,
  cause: unknown,
  code = UNAVAILABLE,
): CallingWebhookError {
  return new CallingWebhookError(name, reason, code, { cause });
}

/** Sends the review and returns the response's body. Rejects with CallingWebhookError. */
async function post(
  { hook }: Invocation,
  review: object,
  request: PolicyRequest,
  services: WebhookServices,
): Promise<unknown> {
  const { name, clientConfig, timeoutSeconds = DEFAULT_TIMEOUT_SECONDS } = hook.webhook;
  const { caller } = request.attributes;
  const remainingMs =
    caller?.deadlineMs === undefined ? Infinity : caller.deadlineMs - services.clock.monotonic();
  const timeoutMs = Math.max(0, Math.min(timeoutSeconds * 1000, remainingMs));
  try {
    const access = await services.webhookAccess?.(hook.type, clientConfig);
    const config = access === undefined ? clientConfig : { ...clientConfig, access };
    return await services.webhooks.call(name, config, review, {
      timeoutMs,
      maxResponseBytes: MAX_RESPONSE_BYTES,
      maxResponseValues: MAX_BODY_VALUES,
      ...(caller && { signal: sharedByMany(caller.signal) }),
    });
  } catch (error) {
    if (!(error instanceof WebhookCallError)) throw error;
    if (error.misconfigured)
      throw failure(name, `could not get REST client: ${error.message}`, error, INTERNAL);
    throw failure(name, `failed to call webhook: ${error.message}`, error, error.status?.code);
  }
}

/** Returns the Status for the client, made from the webhook's status. */
function rejection(name: string, webhookStatus: Status | undefined): Status {
  const {
    message = '',
    reason = '',
    code = 0,
    status,
    metadata = {},
    details,
  } = webhookStatus ?? ({} as Partial<Status>);
  const denied = `admission webhook ${quote(name)} denied the request`;
  const why = message !== '' ? message : reason;
  const isFailure = status !== undefined && (status as string) !== '' && status !== 'Success';
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata,
    status: isFailure ? status : 'Failure',
    message: why === '' ? `${denied} without explanation` : `${denied}: ${why}`,
    ...(reason !== '' && { reason }),
    ...(details !== undefined && { details }),
    code: code < BAD_REQUEST ? BAD_REQUEST : code,
  };
}
