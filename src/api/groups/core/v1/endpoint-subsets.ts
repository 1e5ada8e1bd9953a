// The canonical form of endpoints: every address once with all of its ports, grouped by equal
// ports.

import { stableStringify } from '#machinery/deep.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { EndpointAddress, EndpointPort, EndpointSubset } from './types.ts';

type Address = Immutable<EndpointAddress>;
type Port = Immutable<EndpointPort>;
type Subset = Immutable<EndpointSubset>;

interface Known {
  readonly address: Address;
  ready: boolean;
  readonly ports: Map<string, Port>;
}

/**
 * Returns the canonical form. Addresses are equal if their pods are, too. An address that is ready
 * anywhere with the same ports is ready.
 */
export function repackSubsets(subsets: readonly Subset[]): readonly Subset[] {
  const byAddress = new Map<string, Known>();
  for (const { addresses = [], notReadyAddresses = [], ports = [] } of subsets) {
    const all = [
      ...addresses.map((address) => [address, true] as const),
      ...notReadyAddresses.map((address) => [address, false] as const),
    ];
    for (const [address, ready] of all) {
      // The same address may be ready on some ports and not on others.
      const key = stableStringify([address.ip, address.targetRef?.uid ?? '', ready]);
      const entry = byAddress.get(key) ?? { address, ready, ports: new Map<string, Port>() };
      byAddress.set(key, entry);
      for (const port of ports) entry.ports.set(stableStringify(port), port);
    }
  }
  const groups = new Map<
    string,
    { ports: readonly Port[]; ready: Address[]; notReady: Address[] }
  >();
  for (const { address, ready, ports } of byAddress.values()) {
    const sorted = [...ports].sort(([a], [b]) => (a < b ? -1 : 1));
    const key = sorted.map(([text]) => text).join('\n');
    const group = groups.get(key) ?? {
      ports: sorted.map(([, port]) => port).sort(byPort),
      ready: [],
      notReady: [],
    };
    groups.set(key, group);
    (ready ? group.ready : group.notReady).push(address);
  }
  return [...groups]
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    .map(([, { ports, ready, notReady }]) => ({
      ...(ready.length > 0 && { addresses: ready.sort(byAddressText) }),
      ...(notReady.length > 0 && { notReadyAddresses: notReady.sort(byAddressText) }),
      ...(ports.length > 0 && { ports }),
    }));
}

const textOf = ({ ip, targetRef }: Address): string => `${ip}\n${targetRef?.uid ?? ''}`;
function byAddressText(a: Address, b: Address): number {
  return textOf(a) < textOf(b) ? -1 : textOf(a) > textOf(b) ? 1 : 0;
}
function byPort(a: Port, b: Port): number {
  return (a.name ?? '') < (b.name ?? '')
    ? -1
    : (a.name ?? '') > (b.name ?? '')
      ? 1
      : a.port - b.port;
}
