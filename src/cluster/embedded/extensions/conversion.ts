// Calls conversion handlers.

import type { ConversionReview } from '#api/groups/apiextensions/v1/index.ts';
import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import { errorMessage } from '#machinery/error-message.ts';
import type { ConversionHandler } from './types.ts';

/** Returns the response to a review. */
export async function reviewConversion(
  review: unknown,
  handler: ConversionHandler,
): Promise<ConversionReview> {
  const { request, apiVersion = '' } = review as ConversionReview;
  if (request === undefined) throw new TypeError('the review has no request');
  const { uid, desiredAPIVersion, objects } = request;
  const respond = (
    convertedObjects: Record<string, unknown>[],
    result: object,
  ): ConversionReview => ({
    kind: 'ConversionReview',
    apiVersion,
    response: { uid, convertedObjects, result: { metadata: {}, ...result } },
  });
  try {
    const converted: Record<string, unknown>[] = [];
    for (const object of objects) {
      const result = await handler(
        object as Record<string, unknown> & KubeObject,
        desiredAPIVersion,
      );
      converted.push({ ...result, apiVersion: desiredAPIVersion });
    }
    return respond(converted, { status: 'Success' });
  } catch (error) {
    return respond([], { status: 'Failure', message: errorMessage(error) });
  }
}
