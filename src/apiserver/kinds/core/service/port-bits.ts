// The allocated node ports of a range, and their encoding in the shared object.

import type { RangeAllocation } from '#api/groups/core/v1/index.ts';
import type { Random } from '#machinery/random.ts';

/** A range of ports; both ends are included. */
export interface PortRange {
  readonly first: number;
  readonly last: number;
}

/**
 * Parses '30000-32767', or a single port. Throws RangeError if the text is not a range of ports.
 */
export function parsePortRange(text: string): PortRange {
  const [, from = '', to = from] = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(text) ?? [];
  const range = { first: Number(from), last: Number(to) };
  if (from === '' || range.first < 1 || range.first > range.last || range.last > 65_535) {
    throw new RangeError(`a port range must have the form 30000-32767, not '${text}'`);
  }
  return range;
}

export const formatPortRange = ({ first, last }: PortRange): string => `${first}-${last}`;

export class PortBits {
  readonly range: PortRange;
  readonly #taken: Set<number>;

  constructor(range: PortRange, taken: Iterable<number> = []) {
    this.range = range;
    this.#taken = new Set(taken);
  }

  /**
   * Decodes the stored form: a number whose lowest bit is the first port, as bytes with the most
   * significant one first and without leading zeros.
   */
  static decode(text: string, data: string): PortBits {
    const range = parsePortRange(text);
    const bytes = Buffer.from(data, 'base64');
    const ports = new PortBits(range);
    for (let offset = 0; offset < bytes.length * 8; offset++) {
      const byte = bytes[bytes.length - 1 - (offset >> 3)]!;
      if ((byte & (1 << (offset & 7))) !== 0) ports.#taken.add(range.first + offset);
    }
    return ports;
  }

  encode(): Pick<RangeAllocation, 'range' | 'data'> {
    const offsets = [...this.#taken].map((port) => port - this.range.first);
    const bytes = Buffer.alloc(Math.ceil((Math.max(-1, ...offsets) + 1) / 8));
    for (const offset of offsets) {
      const index = bytes.length - 1 - (offset >> 3);
      bytes[index] = bytes[index]! | (1 << (offset & 7));
    }
    return { range: formatPortRange(this.range), data: bytes.toString('base64') };
  }

  get taken(): ReadonlySet<number> {
    return this.#taken;
  }

  inRange(port: number): boolean {
    return port >= this.range.first && port <= this.range.last;
  }

  /** Allocates the port, which must be in the range. Returns false if it is already allocated. */
  take(port: number): boolean {
    if (this.#taken.has(port)) return false;
    this.#taken.add(port);
    return true;
  }

  release(port: number): void {
    this.#taken.delete(port);
  }

  /**
   * Allocates and returns a free port; undefined if there is none. The lower part (a thirty-second
   * of the range, from 16 to 128 ports; empty for small ranges) is used last, so that requested
   * ports are likely to be free. The search starts at a random place, so that a released port is
   * not used again soon.
   */
  takeAny(random: Random): number | undefined {
    const { first, last } = this.range;
    const size = last - first + 1;
    const part = Math.min(Math.max(16, Math.floor(size / 32)), 128);
    const firstDynamic = first + (size <= 16 ? 0 : Math.min(part, size));
    return (
      this.#takeBetween(firstDynamic, last, random) ??
      this.#takeBetween(first, firstDynamic - 1, random)
    );
  }

  copy(): PortBits {
    return new PortBits(this.range, this.#taken);
  }

  #takeBetween(first: number, last: number, random: Random): number | undefined {
    const size = last - first + 1;
    if (size <= 0) return undefined;
    const offset = random.int(size);
    for (let step = 0; step < size; step++) {
      const port = first + ((offset + step) % size);
      if (this.take(port)) return port;
    }
    return undefined;
  }
}
