// Reads the secrets of calls to drivers.

import { secrets } from '#api/groups/core/v1/index.ts';
import type { Client } from '#client/client.ts';

/** Returns the values of the secret; none without a reference. Rejects if it does not exist. */
export async function secretValues(
  client: Client,
  reference: { readonly name?: string; readonly namespace?: string } | undefined,
  signal: AbortSignal,
): Promise<Readonly<Record<string, string>>> {
  if (reference?.name === undefined) return {};
  const { name, namespace = '' } = reference;
  const { data = {} } = await client.resource(secrets).namespace(namespace).get(name, { signal });
  return Object.fromEntries(
    Object.entries(data).map(([key, value]) => [
      key,
      Buffer.from(value, 'base64').toString('utf8'),
    ]),
  );
}
