// The node ports of a range that are taken, as the object that servers share tells them.

import type { RangeAllocation } from '#api/groups/core/v1/index.ts';
import type { Random } from '#machinery/random.ts';

/** Both included. */
export interface PortRange {
  readonly first: number;
  readonly last: number;
}

/** '30000-32767', or one port. Throws RangeError for what is no range of ports. */
export function parsePortRange(text: string): PortRange {
  const [, from = '', to = from] = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(text) ?? [];
  const range = { first: Number(from), last: Number(to) };
  if (from === '' || range.first < 1 || range.first > range.last || range.last > 65_535) {
    throw new RangeError(`a range of ports is such as 30000-32767, not '${text}'`);
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

  /** What is stored: a number whose lowest bit is the first port, its most significant byte first, without zeros before it. */
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

  /** False if it is taken already. It must be in the range. */
  take(port: number): boolean {
    if (this.#taken.has(port)) return false;
    this.#taken.add(port);
    return true;
  }

  release(port: number): void {
    this.#taken.delete(port);
  }

  /**
   * A free port, taken; undefined if there is none. Those of the lower part (a thirty-second of the range, from 16 to 128; none
   * of a small one) come last, so that what somebody wants by number is likely to be free. Begins at a random place, so that a
   * port is not used again right after it was given back.
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
