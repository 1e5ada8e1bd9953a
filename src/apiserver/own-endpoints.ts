// Where the API server can be reached: the endpoints of the Service `kubernetes`. It selects no pods, so no controller keeps them.

import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import { endpoints } from '../api/core/v1/index.ts';
import { endpointSlices } from '../api/discovery/v1/index.ts';
import type { Client } from '../client/client.ts';
import * as apierrors from '../machinery/apierrors.ts';
import { semanticEqual } from '../machinery/deep.ts';

const NAME = 'kubernetes';

export interface OwnEndpointsConfig {
  /** As system:masters. */
  readonly client: Client;
  readonly address: string;
  readonly port: number;
}

/**
 * The address by which others reach a server that listens at `bindAddress`: that one, or the machine's first if it listens at
 * all of them. Endpoints cannot be in the loopback range, so a server that listens only there names the machine's address too.
 * Undefined if the machine has none.
 */
export function advertisedAddress(bindAddress: string): string | undefined {
  const isOwn = isIP(bindAddress) !== 0 && !['0.0.0.0', '::', '::1'].includes(bindAddress) && !bindAddress.startsWith('127.');
  if (isOwn) return bindAddress;
  const all = Object.values(networkInterfaces())
    .flatMap((list) => list ?? [])
    .filter(({ internal, address }) => !internal && !address.startsWith('fe80:'));
  return (all.find(({ family }) => family === 'IPv4') ?? all[0])?.address;
}

/** Safe to be run at every start; what another server said before is replaced. */
export async function publishOwnEndpoints({ client, address, port }: OwnEndpointsConfig): Promise<void> {
  const asObject = {
    // The slice is written here as well: nobody has to mirror it.
    metadata: { name: NAME, namespace: 'default', labels: { 'endpointslice.kubernetes.io/skip-mirror': 'true' } },
    subsets: [{ addresses: [{ ip: address }], ports: [{ name: 'https', port, protocol: 'TCP' as const }] }],
  };
  const inDefault = client.resource(endpoints).namespace('default');
  const present = await unlessMissing(inDefault.get(NAME));
  if (present === undefined) await inDefault.create(asObject);
  else if (!semanticEqual(present.subsets, asObject.subsets)) await inDefault.update({ ...present, subsets: asObject.subsets });

  const addressType = address.includes(':') ? 'IPv6' : 'IPv4';
  const content = {
    endpoints: [{ addresses: [address], conditions: { ready: true } }],
    ports: [{ name: 'https', protocol: 'TCP' as const, port }],
  };
  const slices = client.resource(endpointSlices).namespace('default');
  let slice = await unlessMissing(slices.get(NAME));
  if (slice !== undefined && slice.addressType !== addressType) {
    // The family of a slice is for ever.
    await slices.delete(NAME, { preconditions: { uid: slice.metadata.uid } });
    slice = undefined;
  }
  if (slice === undefined) {
    const labels = { 'kubernetes.io/service-name': NAME };
    await slices.create({ metadata: { name: NAME, namespace: 'default', labels }, addressType, ...content });
  } else if (!semanticEqual([slice.endpoints, slice.ports], [content.endpoints, content.ports])) {
    await slices.update({ ...slice, ...content });
  }
}

async function unlessMissing<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (err) {
    if (apierrors.isNotFound(err)) return undefined;
    throw err;
  }
}
