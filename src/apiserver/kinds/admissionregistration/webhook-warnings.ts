// Warnings for webhook configurations, which this API server stores and does not act on.

import type { Immutable } from '#api/machinery/meta/v1/index.ts';

interface Webhook {
  readonly name: string;
  readonly failurePolicy?: string;
}

/** Names in a warning. More are counted: a header must stay short. */
const MAX_NAMES = 5;

/**
 * Returns warnings for clients that create or update the configuration. A configuration with failurePolicy Fail is a promise that
 * requests do not pass without the webhook, so it gets a warning of its own.
 */
export function webhookWarnings({ webhooks = [] }: { readonly webhooks?: Immutable<Webhook[]> }): readonly string[] {
  if (webhooks.length === 0) return [];
  const warnings = ['admission webhooks are not called by this API server: the configuration is stored and has no effect'];
  const failing = webhooks.filter(({ failurePolicy }) => failurePolicy === 'Fail').map(({ name }) => name);
  if (failing.length > 0) {
    const more = failing.length > MAX_NAMES ? ` and ${failing.length - MAX_NAMES} more` : '';
    const names = failing.slice(0, MAX_NAMES).join(', ');
    warnings.push(`failurePolicy Fail is not enforced: requests are admitted without the webhooks ${names}${more}`);
  }
  return warnings;
}
