// Allocates the addresses of a CIDR in order, and reuses a released one only after all others, so
// that an address in a log does not soon belong to another pod.

import { isIP } from 'node:net';
import { CriError } from '#cri/index.ts';

function parseIPv4(text: string): bigint {
  return text.split('.').reduce((value, part) => (value << 8n) | BigInt(part), 0n);
}

function formatIPv4(value: bigint): string {
  return [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 0xffn).join('.');
}

function parseIPv6(text: string): bigint {
  const [head = '', tail] = text.split('::');
  const groups = (part: string): string[] => (part === '' ? [] : part.split(':'));
  const front = groups(head);
  const back = groups(tail ?? '');
  const all =
    tail === undefined
      ? front
      : [...front, ...Array<string>(8 - front.length - back.length).fill('0'), ...back];
  return all.reduce((value, group) => (value << 16n) | BigInt(`0x${group}`), 0n);
}

function formatIPv6(value: bigint): string {
  const groups = Array.from({ length: 8 }, (_, i) =>
    ((value >> BigInt(112 - 16 * i)) & 0xffffn).toString(16),
  );
  // The URL parser produces RFC 5952's short form.
  return new URL(`http://[${groups.join(':')}]/`).hostname.slice(1, -1);
}

export class AddressPool {
  readonly #cidr: string;
  readonly #version: 4 | 6;
  /**
   * The first and last address that may be allocated: those of the network, its gateway and its
   * broadcast are excluded.
   */
  readonly #first: bigint;
  readonly #last: bigint;
  #next: bigint;
  readonly #used = new Set<string>();

  /**
   * Creates the pool. `cidr`: IPv4 or IPv6 (without an embedded IPv4 part). The first address after
   * the network's own is the gateway's.
   */
  constructor(cidr: string) {
    this.#cidr = cidr;
    const [address = '', length = ''] = cidr.split('/');
    const version = isIP(address);
    const bits = version === 4 ? 32 : 128;
    const prefix = Number(length);
    if (
      version === 0 ||
      !/^\d+$/.test(length) ||
      prefix > bits ||
      bits - prefix < 2 ||
      address.includes('.') !== (version === 4)
    ) {
      throw new CriError('InvalidArgument', `invalid pod CIDR ${JSON.stringify(cidr)}`);
    }
    this.#version = version === 4 ? 4 : 6;
    const size = 1n << BigInt(bits - prefix);
    const value = version === 4 ? parseIPv4(address) : parseIPv6(address);
    const network = value - (value % size);
    this.#first = network + 2n;
    this.#last = network + size - 2n;
    this.#next = this.#first;
  }

  /** Returns a pool with the same addresses in use, which continues as this one would. */
  clone(): AddressPool {
    const clone = new AddressPool(this.#cidr);
    clone.#next = this.#next;
    for (const address of this.#used) clone.#used.add(address);
    return clone;
  }

  /** A free address. Throws ResourceExhausted if there is none. */
  allocate(): string {
    const size = this.#last - this.#first + 1n;
    for (let tries = 0n; tries < size && BigInt(this.#used.size) < size; tries++) {
      const candidate = this.#version === 4 ? formatIPv4(this.#next) : formatIPv6(this.#next);
      this.#next = this.#next === this.#last ? this.#first : this.#next + 1n;
      if (!this.#used.has(candidate)) {
        this.#used.add(candidate);
        return candidate;
      }
    }
    throw new CriError('ResourceExhausted', 'no pod address is left');
  }

  /**
   * Marks the address as used until it is released. An address outside of the range, or '', has no
   * effect.
   */
  reserve(address: string): void {
    if (address !== '') this.#used.add(address);
  }

  /** Releases an address; a free one is ignored. */
  release(address: string): void {
    this.#used.delete(address);
  }
}
