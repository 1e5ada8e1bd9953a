// The conversion strategy Webhook: objects are sent to a webhook as ConversionReviews. Objects that
// are converted together share a request, unless there are very many. If the webhook fails, only
// the requests that need a conversion fail.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { Random } from '#machinery/random.ts';
import {
  ConversionError,
  conversionFailed,
  type ObjectConverter,
} from '#apiserver/registry/object-converter.ts';
import {
  WebhookCallError,
  type WebhookClientConfig,
  type WebhookClients,
} from '#apiserver/webhooks/client/index.ts';
import { checkedConversion, ConvertedObjectError } from './check.ts';
import type { ConversionMetrics, FailureType } from './metrics.ts';
import { convertedObjects, reviewBody, ReviewError, reviewVersionOf } from './review.ts';

export interface WebhookConversionConfig {
  /** The name of the definition. */
  readonly name: string;
  readonly client: WebhookClientConfig;
  /** The versions of ConversionReview that the webhook supports, preferred ones first. */
  readonly reviewVersions: readonly string[];
  readonly webhooks: Pick<WebhookClients, 'call'>;
  readonly random: Random;
  readonly metrics: ConversionMetrics;
}

/** The maximum number of objects in one request. */
const BATCH = 500;
/**
 * The timeout in ms, so that a webhook that does not respond cannot block a request forever.
 * Upstream has no limit.
 */
const TIMEOUT_MS = 30_000;

export function webhookConversion(config: WebhookConversionConfig): ObjectConverter {
  return {
    async convert(objects, apiVersion) {
      const result = [...objects];
      const due = objects.flatMap((object, index) =>
        object.apiVersion === apiVersion ? [] : [{ object, index }],
      );
      for (let from = 0; from < due.length; from += BATCH) {
        const batch = due.slice(from, from + BATCH);
        const converted = await convertBatch(
          config,
          batch.map(({ object }) => object),
          apiVersion,
        );
        for (const [at, { index }] of batch.entries()) result[index] = converted[at]!;
      }
      return result;
    },
  };
}

async function convertBatch(
  config: WebhookConversionConfig,
  objects: readonly KubeObject[],
  apiVersion: string,
): Promise<readonly KubeObject[]> {
  // Webhooks need not support objects without content.
  if (objects.every(isEmpty)) return objects.map((object) => ({ ...object, apiVersion }));
  const { name, metrics } = config;
  const first = objects[0]!;
  const start = metrics.now();
  const finished = (succeeded: boolean): void =>
    metrics.converted(start, name, versionOf(first.apiVersion), versionOf(apiVersion), succeeded);
  try {
    const converted = await request(config, objects, apiVersion);
    finished(true);
    return converted;
  } catch (error) {
    finished(false);
    throw error;
  }
}

/** Sends the objects to the webhook, and checks the response. */
async function request(
  config: WebhookConversionConfig,
  objects: readonly KubeObject[],
  desiredAPIVersion: string,
): Promise<readonly KubeObject[]> {
  const { name, client, reviewVersions, webhooks, random, metrics } = config;
  const first = objects[0]!;
  const version = orFailed(first, () => reviewVersionOf(reviewVersions));
  const review = { uid: random.uuid(), version, desiredAPIVersion, objects };
  const start = metrics.now();
  let outcome: FailureType | '' = 'conversion_webhook_call_failure';
  try {
    const response = await webhooks.call(
      `conversion_webhook_for_${name}`,
      client,
      reviewBody(review),
      {
        timeoutMs: TIMEOUT_MS,
      },
    );
    outcome = 'conversion_webhook_malformed_response_failure';
    const converted = convertedObjects(response, review);
    outcome = 'conversion_webhook_partial_response_failure';
    if (converted.length !== objects.length) {
      throw failure(first, `returned ${converted.length} objects, expected ${objects.length}`);
    }
    outcome = 'conversion_webhook_invalid_converted_object_failure';
    const checked = objects.map((original, index) =>
      checkedObject(original, converted[index], desiredAPIVersion, index),
    );
    outcome = '';
    return checked;
  } catch (error) {
    if (error instanceof ReviewError || error instanceof WebhookCallError)
      throw conversionFailed(first, error.message);
    throw error;
  } finally {
    metrics.requested(start, outcome);
  }
}

function orFailed<T>(first: KubeObject, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw error instanceof ReviewError ? conversionFailed(first, error.message) : error;
  }
}

function checkedObject(
  original: KubeObject,
  converted: unknown,
  apiVersion: string,
  index: number,
): KubeObject {
  try {
    return checkedConversion({ original, converted, apiVersion, index });
  } catch (error) {
    throw error instanceof ConvertedObjectError ? failure(original, error.message) : error;
  }
}

function versionOf(apiVersion = ''): string {
  return apiVersion.slice(apiVersion.indexOf('/') + 1);
}

function isEmpty(object: KubeObject): boolean {
  return Object.keys(object).every((key) => key === 'kind' || key === 'apiVersion');
}

/** Returns the error. `why` follows the name of the webhook in its message. */
function failure({ apiVersion = '', kind = '' }: KubeObject, why: string): ConversionError {
  return new ConversionError(`conversion webhook for ${apiVersion}, Kind=${kind} ${why}`);
}
