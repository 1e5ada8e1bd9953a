// Conversion between the versions of a custom resource.

import type { Random } from '#machinery/random.ts';
import { ConversionError, type ObjectConverter } from '#apiserver/registry/object-converter.ts';
import type { WebhookClients } from '#apiserver/webhooks/client/index.ts';
import type { CustomResource } from '../description.ts';
import type { ConversionMetrics } from './metrics.ts';
import { noConversion } from './none.ts';
import { webhookConversion } from './webhook.ts';

export { ConversionMetrics } from './metrics.ts';

export interface ConversionServices {
  readonly webhooks: Pick<WebhookClients, 'call'>;
  readonly random: Random;
  readonly metrics: ConversionMetrics;
}

/** Returns the converter of a resource, by the strategy of its definition. */
export function converterOf(
  resource: CustomResource,
  { webhooks, random, metrics }: ConversionServices,
): ObjectConverter {
  const { name, conversion } = resource;
  const client = conversion.webhook?.clientConfig;
  if (conversion.strategy !== 'Webhook' || client === undefined)
    return betweenVersions(resource, noConversion);
  const reviewVersions = conversion.webhook?.conversionReviewVersions ?? [];
  return betweenVersions(
    resource,
    webhookConversion({ name, client: trimmed(client), reviewVersions, webhooks, random, metrics }),
  );
}

/** Returns the client config; a caBundle with only white space counts as none. */
function trimmed(
  client: NonNullable<NonNullable<CustomResource['conversion']['webhook']>['clientConfig']>,
): typeof client {
  const { caBundle = '', ...rest } = client;
  return Buffer.from(caBundle, 'base64').toString('latin1').trim() === '' ? rest : client;
}

/**
 * Returns a converter that rejects versions which the definition does not have. Stored objects may
 * be of a version that was removed from the definition.
 */
function betweenVersions(
  { group, versions }: CustomResource,
  converter: ObjectConverter,
): ObjectConverter {
  const apiVersions = new Set(versions.map(({ name }) => `${group}/${name}`));
  const checked = (direction: string, apiVersion: string): void => {
    if (apiVersions.has(apiVersion)) return;
    throw new ConversionError(
      `request to convert CR ${direction} an invalid group/version: ${apiVersion}`,
    );
  };
  return {
    convert(objects, apiVersion) {
      checked('to', apiVersion);
      for (const object of objects) checked('from', object.apiVersion ?? '');
      return converter.convert(objects, apiVersion);
    },
  };
}
