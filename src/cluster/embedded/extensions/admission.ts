// Calls admission handlers: a review becomes a call of a function, and its outcome a response.

import type {
  AdmissionRequest,
  AdmissionResponse,
  AdmissionReview,
} from '#api/groups/admission/v1/index.ts';
import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { deepCopy } from '#machinery/deep.ts';
import { jsonPatchOf } from '#machinery/diff/index.ts';
import type { JsonPatchOperation } from '#machinery/patch/json-patch.ts';
import type { AdmissionCall, MutatingHandler } from './types.ts';

const API_VERSION = 'admission.k8s.io/v1';

/**
 * Returns the response to a review. Rejects with what the handler throws, if it is not a
 * StatusError.
 */
export async function reviewAdmission<T extends KubeObject>(
  review: unknown,
  handler: MutatingHandler<T>,
  { mutating, signal }: { readonly mutating: boolean; readonly signal: AbortSignal },
): Promise<AdmissionReview> {
  const { request } = review as AdmissionReview;
  if (request === undefined) throw new TypeError('the review has no request');
  const { uid } = request;
  const given = deepCopy(request.object);
  const notes = { warnings: [] as string[], auditAnnotations: {} as Record<string, string> };
  let patch: readonly JsonPatchOperation[];
  try {
    const explicit = await handler(callOf<T>(request, notes, signal));
    patch = explicit ?? jsonPatchOf(given, request.object);
  } catch (error) {
    if (!(error instanceof apierrors.StatusError)) throw error;
    const { metadata = {}, ...status } = error.status;
    return respond({ uid, allowed: false, status: { ...status, metadata } as Status, ...notes });
  }
  if (patch.length === 0) return respond({ uid, allowed: true, ...notes });
  if (!mutating)
    throw new TypeError('a validating handler must not change the object or return a patch');
  const encoded = Buffer.from(JSON.stringify(patch)).toString('base64');
  return respond({ uid, allowed: true, patch: encoded, patchType: 'JSONPatch', ...notes });
}

type Status = NonNullable<AdmissionResponse['status']>;

function respond(response: AdmissionResponse): AdmissionReview {
  return { apiVersion: API_VERSION, kind: 'AdmissionReview', response };
}

function callOf<T extends KubeObject>(
  request: AdmissionRequest,
  notes: { readonly warnings: string[]; readonly auditAnnotations: Record<string, string> },
  signal: AbortSignal,
): AdmissionCall<T> {
  const { operation, object, oldObject, name = '', namespace, userInfo, dryRun = false } = request;
  return {
    operation: operation as AdmissionCall['operation'],
    object: (object ?? oldObject) as unknown as T,
    oldObject: (oldObject ?? undefined) as T | undefined,
    name,
    namespace,
    user: userInfo,
    dryRun,
    review: request,
    signal,
    warn: (text) => void notes.warnings.push(text),
    annotate: (key, value) => void (notes.auditAnnotations[key] = value),
    deny(message) {
      throw apierrors.fromStatus({
        kind: 'Status',
        apiVersion: 'v1',
        metadata: {},
        status: 'Failure',
        reason: 'Forbidden',
        message,
        code: 403,
      });
    },
  };
}
