// A set of IP addresses, written as ranges and networks: `10.0.0.240-10.0.0.250,fd00::/120`.

import { formatIp, type IpAddress, type IpFamily, type IpRange, parseCidr, parseIp } from './ip.ts';

interface Span {
  readonly family: IpFamily;
  readonly first: bigint;
  readonly last: bigint;
}

export class IpPool {
  readonly #spans: readonly Span[];

  private constructor(spans: readonly Span[]) {
    this.#spans = spans;
  }

  /**
   * Parses a pool. A network counts with its first and last address. Throws RangeError for text
   * that is not a pool, and for ranges that overlap.
   */
  static parse(text: string): IpPool {
    const spans = text.split(',').map((part) => spanOf(part.trim()));
    for (const [index, span] of spans.entries()) {
      const other = spans
        .slice(0, index)
        .find((each) => each.family === span.family && meet(each, span));
      if (other !== undefined) throw new RangeError(`${textOf(other)} and ${textOf(span)} overlap`);
    }
    return new IpPool(spans);
  }

  /** Reports whether `text` is an address of the pool, in any spelling. */
  has(text: string): boolean {
    const address = parseIp(text);
    return address !== undefined && this.#spans.some((span) => includes(span, address));
  }

  /** Reports whether an address of the pool is in the range. */
  meets({ family, first, last }: Pick<IpRange, 'family' | 'first' | 'last'>): boolean {
    return this.#spans.some(
      (span) => span.family === family && meet(span, { family, first, last }),
    );
  }

  hasFamily(family: IpFamily): boolean {
    return this.#spans.some((span) => span.family === family);
  }

  /** Returns the first free address of a family, in canonical form; undefined if all are taken. */
  firstFree(family: IpFamily, isTaken: (address: string) => boolean): string | undefined {
    for (const span of this.#spans) {
      if (span.family !== family) continue;
      // Ends at the latest one step after the number of taken addresses, however long the range is.
      for (let { first: value } = span; value <= span.last; value++) {
        const address = formatIp({ family, value });
        if (!isTaken(address)) return address;
      }
    }
    return undefined;
  }

  toString(): string {
    return this.#spans.map(textOf).join(',');
  }
}

function spanOf(text: string): Span {
  const network = parseCidr(text);
  if (network !== undefined)
    return { family: network.family, first: network.first, last: network.last };
  const [from = '', to = from, ...rest] = text.split('-').map((end) => end.trim());
  const [first, last] = [parseIp(from), parseIp(to)];
  if (first === undefined || last === undefined || rest.length > 0) {
    throw new RangeError(`${JSON.stringify(text)} is neither a range of addresses nor a network`);
  }
  if (first.family !== last.family || first.value > last.value)
    throw new RangeError(`${JSON.stringify(text)} is not a range: its end precedes its start`);
  return { family: first.family, first: first.value, last: last.value };
}

const includes = (span: Span, address: IpAddress): boolean =>
  span.family === address.family && address.value >= span.first && address.value <= span.last;

const meet = (a: Span, b: Span): boolean => a.first <= b.last && b.first <= a.last;

const textOf = ({ family, first, last }: Span): string =>
  first === last
    ? formatIp({ family, value: first })
    : `${formatIp({ family, value: first })}-${formatIp({ family, value: last })}`;
