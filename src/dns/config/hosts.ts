// Static names and addresses in the format of hosts(5).

import { addressBytes, addressKey, type AddressKey } from '../records/addresses.ts';
import { formatName, parseName, type Labels } from '../wire/names.ts';

export interface Hosts {
  /** By name, in the form of formatName: its addresses, in the order of the file. */
  readonly addresses: ReadonlyMap<string, readonly Uint8Array[]>;
  readonly names: ReadonlyMap<AddressKey, readonly Labels[]>;
}

export const NO_HOSTS: Hosts = { addresses: new Map(), names: new Map() };

/**
 * Parses the file. Throws TypeError with the line's number for a line that is not an address
 * followed by names.
 */
export function parseHosts(text: string): Hosts {
  const addresses = new Map<string, Uint8Array[]>();
  const names = new Map<AddressKey, Labels[]>();
  for (const [i, line] of text.split('\n').entries()) {
    const [address = '', ...hosts] = line.replace(/#.*$/, '').trim().split(/\s+/);
    if (address === '') continue;
    const bytes = addressBytes(address);
    if (bytes === undefined)
      throw new TypeError(`line ${i + 1}: ${JSON.stringify(address)} is not an IP address`);
    if (hosts.length === 0) throw new TypeError(`line ${i + 1}: there is no name after ${address}`);
    for (const host of hosts) {
      const labels = parseName(host);
      if (labels === undefined || labels.length === 0) {
        throw new TypeError(`line ${i + 1}: ${JSON.stringify(host)} is not a DNS name`);
      }
      append(addresses, formatName(labels), bytes);
      append(names, addressKey(bytes), labels);
    }
  }
  return { addresses, names };
}

function append<K, V>(map: Map<K, V[]>, key: K, value: V): void {
  const present = map.get(key);
  if (present === undefined) map.set(key, [value]);
  else present.push(value);
}
