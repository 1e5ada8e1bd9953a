// ConversionReviews: builds the request to a conversion webhook, and reads the response. Messages
// are upstream's.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import { notRegistered } from '#api/machinery/scheme.ts';
import { isPlainObject } from '#machinery/deep.ts';
import { quote } from '#machinery/text/go-format.ts';

const GROUP = 'apiextensions.k8s.io';
/** The supported versions of ConversionReview. */
const SUPPORTED = ['v1', 'v1beta1'] as const;

export type ReviewVersion = (typeof SUPPORTED)[number];

/** The response is invalid, or reports that the conversion has failed. */
export class ReviewError extends Error {
  override name = 'ReviewError';
}

/** Returns the first version that both the webhook and this server support. Throws ReviewError. */
export function reviewVersionOf(versions: readonly string[]): ReviewVersion {
  for (const version of versions) if (version === 'v1' || version === 'v1beta1') return version;
  throw new ReviewError('no supported conversion review versions');
}

export interface ReviewRequest {
  readonly uid: string;
  readonly version: ReviewVersion;
  readonly desiredAPIVersion: string;
  readonly objects: readonly KubeObject[];
}

/** Returns the body of the request. It contains an empty response, as upstream's does. */
export function reviewBody({ uid, version, desiredAPIVersion, objects }: ReviewRequest): object {
  return {
    kind: 'ConversionReview',
    apiVersion: `${GROUP}/${version}`,
    request: { uid, desiredAPIVersion, objects },
    response: { uid: '', convertedObjects: null, result: { metadata: {} } },
  };
}

/** Returns the converted objects in the response. Throws ReviewError. */
export function convertedObjects(
  response: unknown,
  { uid, version }: ReviewRequest,
): readonly unknown[] {
  const review = isPlainObject(response) ? response : {};
  checkKind(review, version);
  const { response: answer } = review;
  if (!isPlainObject(answer)) throw new ReviewError('no response provided');
  if (version === 'v1' && answer['uid'] !== uid) {
    throw new ReviewError(
      `expected response.uid=${quote(uid)}, got ${quote(textOf(answer['uid']))}`,
    );
  }
  const result = isPlainObject(answer['result']) ? answer['result'] : {};
  const status = textOf(result['status']);
  if (status !== 'Success') {
    const message = textOf(result['message']);
    throw new ReviewError(
      message === '' ? `response.result.status was '${status}', not 'Success'` : message,
    );
  }
  const { convertedObjects: objects } = answer;
  return Array.isArray(objects) ? objects : [];
}

/**
 * Throws ReviewError, with the message of upstream's decoder, if the response is another kind of
 * object.
 */
function checkKind(review: Readonly<Record<string, unknown>>, version: ReviewVersion): void {
  const [apiVersion, kind] = [textOf(review['apiVersion']), textOf(review['kind'])];
  const expected = `${GROUP}/${version}`;
  if (kind === '') {
    // Upstream does not check this for v1beta1.
    if (version === 'v1beta1') return;
    const got = apiVersion === '' ? '/' : apiVersion;
    throw new ReviewError(
      `expected webhook response of ${expected}, Kind=ConversionReview, got ${got}, Kind=`,
    );
  }
  if (kind === 'ConversionReview' && apiVersion === expected) return;
  if (kind === 'ConversionReview' && SUPPORTED.some((each) => apiVersion === `${GROUP}/${each}`)) {
    const receivedVersion = apiVersion.slice(GROUP.length + 1);
    throw new ReviewError(
      `converting (${receivedVersion}.ConversionReview) to (${version}.ConversionReview): unknown conversion`,
    );
  }
  throw new ReviewError(notRegistered(apiVersion, kind));
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
