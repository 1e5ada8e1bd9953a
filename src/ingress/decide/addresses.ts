// Assigns addresses to Gateways.

import { isIP } from 'node:net';
import type { Gateway } from '../gateway-api/types.ts';
import type { Facts } from './objects.ts';

export interface GatewayAddresses {
  /** The addresses to listen at. Empty: none. */
  readonly listen: readonly string[];
  /** The addresses for the status. */
  readonly published: readonly string[];
  /** The reason for a missing address. */
  readonly failure?: {
    readonly condition: 'Accepted' | 'Programmed';
    readonly reason: 'UnsupportedAddress' | 'AddressNotUsable' | 'AddressNotAssigned';
    readonly message: string;
  };
}

/**
 * Assigns addresses to the Gateways, in the given order. A Gateway that requests addresses gets
 * those or none. Without a pool, the others share the machine's addresses; with a pool, each gets
 * its own address and keeps the one in its status.
 */
export function assignAddresses(
  gateways: readonly Gateway[],
  facts: Facts,
): ReadonlyMap<Gateway, GatewayAddresses> {
  const { addresses, published, gatewayAddresses } = facts;
  const pool = new Set(gatewayAddresses);
  const taken = new Set<string>();
  const result = new Map<Gateway, GatewayAddresses>();
  const open: Gateway[] = [];
  for (const gateway of gateways) {
    const wanted = (gateway.spec.addresses ?? []).filter(({ value = '' }) => value !== '');
    if (wanted.length === 0) {
      open.push(gateway);
      continue;
    }
    const assigned = staticAddresses(
      wanted,
      [...gatewayAddresses, ...addresses, ...published],
      taken,
    );
    for (const address of assigned.listen) if (pool.has(address)) taken.add(address);
    result.set(gateway, assigned);
  }
  if (pool.size === 0) {
    for (const gateway of open) result.set(gateway, { listen: addresses, published });
    return result;
  }
  const waiting: Gateway[] = [];
  for (const gateway of open) {
    const kept = gateway.status?.addresses?.find(
      ({ value = '' }) => pool.has(value) && !taken.has(value),
    )?.value;
    if (kept === undefined) waiting.push(gateway);
    else {
      taken.add(kept);
      result.set(gateway, { listen: [kept], published: [kept] });
    }
  }
  const free = gatewayAddresses.filter((address) => !taken.has(address));
  for (const gateway of waiting) {
    const address = free.shift();
    const message = 'no address is left for Gateways';
    result.set(
      gateway,
      address === undefined
        ? {
            listen: [],
            published: [],
            failure: { condition: 'Programmed', reason: 'AddressNotAssigned', message },
          }
        : { listen: [address], published: [address] },
    );
  }
  return result;
}

function staticAddresses(
  wanted: NonNullable<Gateway['spec']['addresses']>,
  usable: readonly string[],
  taken: ReadonlySet<string>,
): GatewayAddresses {
  const none = { listen: [], published: [] };
  const other = wanted.find(
    ({ type = 'IPAddress', value = '' }) => type !== 'IPAddress' || isIP(value) === 0,
  );
  if (other !== undefined) {
    const message = `addresses of the type ${JSON.stringify(other.type)} are not supported`;
    return { ...none, failure: { condition: 'Accepted', reason: 'UnsupportedAddress', message } };
  }
  const values = wanted.map(({ value = '' }) => value);
  const unusable = values.find((value) => !usable.includes(value) || taken.has(value));
  if (unusable === undefined) return { listen: values, published: values };
  const message = `the address ${unusable} is not one of this proxy's, or another Gateway has it`;
  return { ...none, failure: { condition: 'Programmed', reason: 'AddressNotUsable', message } };
}
