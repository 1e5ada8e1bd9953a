// Static names and addresses in the format of hosts(5).

import { addressBytes, addressKey, type AddressKey } from '../records/addresses.ts';
import { formatName, parseName, type Labels } from '../wire/names.ts';

export interface Hosts {
  /** By name, in the form of formatName: its addresses, in the order of the file. */
  readonly addresses: ReadonlyMap<string, readonly Uint8Array[]>;
  readonly names: ReadonlyMap<AddressKey, readonly Labels[]>;
}

export const NO_HOSTS: Hosts = { addresses: new Map(), names: new Map() };

/** Hosts that are being made. */
export class HostsTable implements Hosts {
  readonly addresses = new Map<string, Uint8Array[]>();
  readonly names = new Map<AddressKey, Labels[]>();

  /** Adds an address and its names. Throws TypeError for one that is none. */
  add(address: string, hosts: readonly string[]): void {
    const bytes = addressBytes(address);
    if (bytes === undefined) throw new TypeError(`${JSON.stringify(address)} is not an IP address`);
    if (hosts.length === 0) throw new TypeError(`there is no name after ${address}`);
    for (const host of hosts) {
      const labels = parseName(host);
      if (labels === undefined || labels.length === 0)
        throw new TypeError(`${JSON.stringify(host)} is not a DNS name`);
      append(this.addresses, formatName(labels), bytes);
      append(this.names, addressKey(bytes), labels);
    }
  }

  /** Adds the lines of a file. `onProblem` gets those that are no address with names. */
  addFile(text: string, onProblem: (line: number, problem: string) => void): void {
    for (const [i, line] of text.split('\n').entries()) {
      const [address = '', ...hosts] = line.replace(/#.*$/, '').trim().split(/\s+/);
      if (address === '') continue;
      try {
        this.add(address, hosts);
      } catch (error) {
        if (!(error instanceof TypeError)) throw error;
        onProblem(i + 1, error.message);
      }
    }
  }
}

/**
 * Parses the file. Throws TypeError with the line's number for a line that is not an address
 * followed by names.
 */
export function parseHosts(text: string): Hosts {
  const hosts = new HostsTable();
  hosts.addFile(text, (line, problem) => {
    throw new TypeError(`line ${line}: ${problem}`);
  });
  return hosts;
}

function append<K, V>(map: Map<K, V[]>, key: K, value: V): void {
  const present = map.get(key);
  if (present === undefined) map.set(key, [value]);
  else present.push(value);
}
