// Claims of pool addresses. A claim is an IPAddress object named after the address, which is
// created before the service gets the address. Since names are unique, two controllers cannot give
// one address to two services, and no cluster IP can be equal to it.

import { type IPAddress, ipAddresses } from '#api/groups/networking/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { Client } from '#client/client.ts';
import { splitKey } from '#client/informers/index.ts';
import * as apierrors from '#machinery/apierrors.ts';

type Claim = Immutable<IPAddress>;

const FAMILY_LABEL = 'ipaddress.kubernetes.io/ip-family';
const MANAGED_BY_LABEL = 'ipaddress.kubernetes.io/managed-by';
const MANAGER = 'load-balancer-pool-controller';

/**
 * Returns the key of the service that a pool claim is for; undefined for other IPAddress objects,
 * such as those of cluster IPs.
 */
export function claimant({ metadata, spec: { parentRef } }: Claim): string | undefined {
  if (metadata.labels?.[MANAGED_BY_LABEL] !== MANAGER || parentRef?.resource !== 'services')
    return undefined;
  return `${parentRef.namespace ?? ''}/${parentRef.name ?? ''}`;
}

/** Claims the address for a service. Returns false if it is taken. Idempotent. */
export async function claim(
  client: Client,
  address: string,
  key: string,
  signal: AbortSignal,
): Promise<boolean> {
  const { namespace, name } = splitKey(key);
  try {
    await client.resource(ipAddresses).create(
      {
        metadata: {
          name: address,
          labels: {
            [FAMILY_LABEL]: address.includes(':') ? 'IPv6' : 'IPv4',
            [MANAGED_BY_LABEL]: MANAGER,
          },
        },
        spec: { parentRef: { group: '', resource: 'services', namespace, name } },
      },
      { signal },
    );
    return true;
  } catch (error) {
    if (!apierrors.isAlreadyExists(error)) throw error;
  }
  // The claim exists: an earlier attempt whose response was lost created it, or another controller
  // did. The cache may be stale, so the claim is read.
  try {
    return claimant(await client.resource(ipAddresses).get(address, { signal })) === key;
  } catch (error) {
    if (apierrors.isNotFound(error)) return false;
    throw error;
  }
}

/**
 * Deletes the claim. Idempotent. Rejects with a conflict if the cache is stale: a newer claim of
 * the same address stays.
 */
export async function release(
  client: Client,
  { metadata }: Claim,
  signal: AbortSignal,
): Promise<void> {
  try {
    await client
      .resource(ipAddresses)
      .delete(metadata.name, { preconditions: { uid: metadata.uid }, signal });
  } catch (error) {
    if (!apierrors.isNotFound(error)) throw error;
  }
}
