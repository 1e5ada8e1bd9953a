// An AdmissionReview: the request that a webhook gets, and the validation of its response.

import type { AdmissionResponse, AdmissionReview } from '#api/groups/admission/v1/index.ts';
import { DecodeError } from '#api/machinery/codec/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { notRegistered, type Scheme } from '#api/machinery/scheme.ts';
import { typedCodec } from '#apiserver/catalog/codec.ts';
import { quote } from '#machinery/text/go-format.ts';
import type { PolicyRequest } from '../policy/request.ts';
import { requestValue } from '../policy/request-value.ts';
import type { Invocation } from './invocation.ts';
import type { WebhookType } from './metrics.ts';

const GROUP = 'admission.k8s.io';
const REVIEW = { group: GROUP, version: 'v1', kind: 'AdmissionReview' } as const;

export type ReviewVersion = 'v1' | 'v1beta1';

/** The response is not a review, or has fields that are not allowed. */
export class InvalidResponseError extends Error {
  override readonly name = 'InvalidResponseError';
}

/** Returns the first version of reviews that both the webhook and the server support. */
export function reviewVersionOf(versions: readonly string[]): ReviewVersion | undefined {
  return versions.find(
    (version): version is ReviewVersion => version === 'v1' || version === 'v1beta1',
  );
}

/** Returns the review of a request, to be sent as JSON. */
export function reviewOf(
  version: ReviewVersion,
  uid: string,
  request: PolicyRequest,
  { matched, objects }: Invocation,
): object {
  const { dryRun, options, ...value } = requestValue(request, matched);
  return {
    kind: REVIEW.kind,
    apiVersion: `${GROUP}/${version}`,
    request: {
      uid,
      ...value,
      object: objects.object ?? null,
      oldObject: objects.oldObject ?? null,
      dryRun,
      options,
    },
  };
}

/** Decodes a response to a review of the version. Throws DecodeError. */
export function decodeReview(
  scheme: Scheme,
  version: ReviewVersion,
  json: unknown,
): Immutable<AdmissionReview> {
  const problem =
    typeof json === 'object'
      ? kindProblem(version, (json ?? {}) as Readonly<Record<string, unknown>>)
      : undefined;
  if (problem !== undefined) throw new DecodeError(problem, '');
  return typedCodec(scheme, REVIEW).decode(json).object;
}

/** Returns the problem with the kind of a response. A missing kind or apiVersion is accepted. */
function kindProblem(
  version: ReviewVersion,
  json: Readonly<Record<string, unknown>>,
): string | undefined {
  const { apiVersion = '', kind = '' } = json;
  // The decoder reports wrong types.
  if (typeof apiVersion !== 'string' || typeof kind !== 'string') return undefined;
  if (apiVersion.split('/').length > 2) return `unexpected GroupVersion string: ${apiVersion}`;
  const expected = `${GROUP}/${version}`;
  const [givenVersion, givenKind] = [
    apiVersion === '' ? expected : apiVersion,
    kind === '' ? REVIEW.kind : kind,
  ];
  if (givenVersion === expected && givenKind === REVIEW.kind) return undefined;
  const isReview =
    givenKind === REVIEW.kind &&
    (givenVersion === `${GROUP}/v1` || givenVersion === `${GROUP}/v1beta1`);
  if (isReview || (givenVersion === 'v1' && givenKind === 'Status')) {
    return (
      `converting (${givenVersion.split('/').at(-1)}.${givenKind}) to ` +
      `(${version}.${REVIEW.kind}): unknown conversion`
    );
  }
  return notRegistered(givenVersion, givenKind);
}

/** Returns the response of a review. Throws InvalidResponseError. */
export function verifiedResponse(
  version: ReviewVersion,
  type: WebhookType,
  uid: string,
  review: Immutable<AdmissionReview>,
): Immutable<AdmissionResponse> {
  const { response } = review;
  if (response === undefined) throw new InvalidResponseError('webhook response was absent');
  // Reviews of v1beta1 are validated less strictly, as upstream.
  if (version === 'v1beta1') return betaResponse(type, response);
  if (response.uid !== uid)
    throw new InvalidResponseError(
      `expected response.uid=${quote(uid)}, got ${quote(response.uid)}`,
    );
  const { apiVersion = '', kind = '' } = review;
  if (apiVersion !== `${GROUP}/v1` || kind !== REVIEW.kind) {
    const expected = `${GROUP}/v1, Kind=${REVIEW.kind}`;
    const slash = apiVersion.includes('/') ? apiVersion : `/${apiVersion}`;
    throw new InvalidResponseError(
      `expected webhook response of ${expected}, got ${slash}, Kind=${kind}`,
    );
  }
  const { patch = '', patchType } = response;
  const problem =
    type === 'admit' ? patchProblem(patch, patchType) : unexpectedPatch(patch, patchType);
  if (problem !== undefined) throw new InvalidResponseError(problem);
  return response;
}

function patchProblem(patch: string, patchType: string | undefined): string | undefined {
  if (patch !== '' && patchType === undefined)
    return 'webhook returned response.patch but not response.patchType';
  if (patch === '' && patchType !== undefined)
    return 'webhook returned response.patchType but not response.patch';
  return patchType === ''
    ? `webhook returned invalid response.patchType of ${quote(patchType)}`
    : undefined;
}

function unexpectedPatch(patch: string, patchType: string | undefined): string | undefined {
  if (patch !== '') return 'validating webhook may not return response.patch';
  return patchType === undefined
    ? undefined
    : 'validating webhook may not return response.patchType';
}

function betaResponse(
  type: WebhookType,
  response: Immutable<AdmissionResponse>,
): Immutable<AdmissionResponse> {
  const { patch = '', patchType: _given, ...rest } = response;
  return type === 'admit' && patch !== '' ? { ...rest, patch, patchType: 'JSONPatch' } : rest;
}
