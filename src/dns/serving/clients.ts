// Decides which clients get answers. A server that answers all clients can be abused to send its
// answers to a victim.

import { contains, formatIp, parseCidr, parseIp, type IpRange } from '#machinery/net/ip.ts';

/** Addresses outside of the public Internet: of this machine, and private ones. */
export const PRIVATE_RANGES = [
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '::1/128',
  'fc00::/7',
  'fe80::/10',
] as const;

/** The number of clients whose decisions are cached, so that most packets cost one look-up. */
const REMEMBERED = 4096;

export class AllowedClients {
  readonly #ranges: readonly IpRange[];
  #known = new Map<string, boolean>();

  /**
   * Creates the list. Throws RangeError for an invalid range. A single address is a range of one.
   */
  constructor(ranges: readonly string[]) {
    this.#ranges = ranges.map((text) => {
      const range = parseCidr(text) ?? parseCidr(`${text}/${text.includes(':') ? 128 : 32}`);
      if (range === undefined)
        throw new RangeError(`${JSON.stringify(text)} is no range of addresses`);
      return range;
    });
  }

  has(address: string): boolean {
    let allowed = this.#known.get(address);
    if (allowed !== undefined) return allowed;
    const parsed = parseIp(address.replace(/%.*$/, ''));
    allowed = parsed !== undefined && this.#ranges.some((range) => contains(range, parsed));
    if (this.#known.size >= REMEMBERED) this.#known = new Map();
    this.#known.set(address, allowed);
    return allowed;
  }

  toString(): string {
    return this.#ranges
      .map((range) => `${formatIp({ family: range.family, value: range.first })}/${range.prefix}`)
      .join(',');
  }
}
