// ConversionReviews: what a conversion webhook is asked, and what its response says. Reasons are in upstream's words.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import { isPlainObject } from '#machinery/deep.ts';
import { quote } from '#machinery/text/go-format.ts';

const GROUP = 'apiextensions.k8s.io';
/** Versions of ConversionReview that this server speaks. */
const SUPPORTED = ['v1', 'v1beta1'] as const;

export type ReviewVersion = (typeof SUPPORTED)[number];

/** The response is not what it must be, or says that the conversion has failed. */
export class ReviewError extends Error {
  override name = 'ReviewError';
}

/** Returns the first version that the webhook understands and this server speaks. Throws ReviewError. */
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

/** Returns the body of the request. The empty response is there in upstream's, too. */
export function reviewBody({ uid, version, desiredAPIVersion, objects }: ReviewRequest): object {
  return {
    kind: 'ConversionReview',
    apiVersion: `${GROUP}/${version}`,
    request: { uid, desiredAPIVersion, objects },
    response: { uid: '', convertedObjects: null, result: { metadata: {} } },
  };
}

/** Returns the converted objects as the webhook gives them. Throws ReviewError. */
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

/** Throws ReviewError with what upstream's decoder says of another object. */
function checkKind(review: Readonly<Record<string, unknown>>, version: ReviewVersion): void {
  const [apiVersion, kind] = [textOf(review['apiVersion']), textOf(review['kind'])];
  const expected = `${GROUP}/${version}`;
  if (kind === '') {
    // The older version is not checked.
    if (version === 'v1beta1') return;
    const got = apiVersion === '' ? '/' : apiVersion;
    throw new ReviewError(
      `expected webhook response of ${expected}, Kind=ConversionReview, got ${got}, Kind=`,
    );
  }
  if (kind === 'ConversionReview' && apiVersion === expected) return;
  if (kind === 'ConversionReview' && SUPPORTED.some((each) => apiVersion === `${GROUP}/${each}`)) {
    const given = apiVersion.slice(GROUP.length + 1);
    throw new ReviewError(
      `converting (${given}.ConversionReview) to (${version}.ConversionReview): unknown conversion`,
    );
  }
  throw new ReviewError(
    `no kind ${quote(kind)} is registered for version ${quote(apiVersion)} in scheme "pkg/runtime/scheme.go:111"`,
  );
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
