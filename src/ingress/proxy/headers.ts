// Lists of headers: alternating names and values, as in rawHeaders of node:http.

import { connectionOptions, isHopByHop } from '#machinery/net/hop-by-hop.ts';
import type { HeaderChanges } from '../model.ts';

export type HeaderList = readonly string[];

/**
 * Headers that only proxies may set. Some servers read '_' as '-', so that both forms are removed.
 */
const FORWARDED: ReadonlySet<string> = new Set([
  'forwarded',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-port',
  'x-forwarded-proto',
  'x-forwarded-prefix',
  'x-forwarded-server',
  'x-forwarded-ssl',
  'x-original-url',
  'x-real-ip',
  'x-rewrite-url',
]);

/** Returns the value of a header; several values are joined with commas. `name`: in lower case. */
export function headerValue(list: HeaderList, name: string): string | undefined {
  let value: string | undefined;
  for (let i = 0; i < list.length; i += 2) {
    if (!equalsName(list[i]!, name)) continue;
    value = value === undefined ? list[i + 1]! : `${value}, ${list[i + 1]!}`;
  }
  return value;
}

export function countHeader(list: HeaderList, name: string): number {
  let count = 0;
  for (let i = 0; i < list.length; i += 2) if (equalsName(list[i]!, name)) count++;
  return count;
}

const equalsName = (name: string, lowerCase: string): boolean =>
  name.length === lowerCase.length && (name === lowerCase || name.toLowerCase() === lowerCase);

/**
 * Returns the end-to-end headers with names in lower case: without pseudo headers and hop-by-hop
 * headers.
 */
export function endToEnd(list: HeaderList): string[] {
  const options = connectionOptions(headerValue(list, 'connection'));
  const result: string[] = [];
  for (let i = 0; i < list.length; i += 2) {
    const name = list[i]!.toLowerCase();
    if (
      name.startsWith(':') ||
      // Trailers are passed on.
      (isHopByHop(name) && name !== 'trailer') ||
      (options.size > 0 && options.has(name) && name !== 'host')
    )
      continue;
    result.push(name, list[i + 1]!);
  }
  return result;
}

export interface ForwardedFacts {
  readonly remoteAddress: string;
  readonly scheme: 'http' | 'https';
  readonly authority: string;
  readonly port: number;
  /** The client is a trusted proxy. */
  readonly trusted: boolean;
}

/**
 * Replaces the forwarded headers in a list of endToEnd. Headers of a trusted proxy are kept and
 * extended.
 */
export function withForwarded(
  list: string[],
  { remoteAddress, scheme, authority, port, trusted }: ForwardedFacts,
): string[] {
  const result: string[] = [];
  const said = new Map<string, string>();
  for (let i = 0; i < list.length; i += 2) {
    const name = list[i]!.replaceAll('_', '-');
    if (!FORWARDED.has(name)) result.push(list[i]!, list[i + 1]!);
    else if (trusted && name === list[i]) {
      const before = said.get(name);
      said.set(name, before === undefined ? list[i + 1]! : `${before}, ${list[i + 1]!}`);
    }
  }
  const chain = said.get('x-forwarded-for');
  result.push(
    'x-forwarded-for',
    chain === undefined ? remoteAddress : `${chain}, ${remoteAddress}`,
  );
  result.push('x-forwarded-proto', said.get('x-forwarded-proto') ?? scheme);
  result.push('x-forwarded-host', said.get('x-forwarded-host') ?? authority);
  result.push('x-forwarded-port', said.get('x-forwarded-port') ?? String(port));
  result.push('x-real-ip', said.get('x-real-ip') ?? remoteAddress);
  return result;
}

/**
 * Returns the list after a filter: removals, then replacements, then additions, which extend an
 * existing value.
 */
export function changeHeaders(
  list: readonly string[],
  { set, add, remove }: HeaderChanges,
): string[] {
  const gone = new Set([...remove, ...set.map(([name]) => name.toLowerCase())]);
  const result: string[] = [];
  for (let i = 0; i < list.length; i += 2) {
    const name = list[i]!.toLowerCase();
    if (!gone.has(name)) result.push(name, list[i + 1]!);
  }
  for (const [name, value] of set) result.push(name.toLowerCase(), value);
  for (const [original, value] of add) {
    const name = original.toLowerCase();
    const at =
      name === 'set-cookie'
        ? -1
        : result.findIndex((each, index) => index % 2 === 0 && each === name);
    if (at < 0) result.push(name, value);
    else result[at + 1] = `${result[at + 1]!},${value}`;
  }
  return result;
}

/** Returns the list in the form of node:http2: several values of a name as an array. */
export function asHeaderObject(list: HeaderList): Record<string, string | string[]> {
  const result: Record<string, string | string[]> = Object.create(null) as Record<
    string,
    string | string[]
  >;
  for (let i = 0; i < list.length; i += 2) {
    const name = list[i]!;
    const value = list[i + 1]!;
    const present = result[name];
    if (present === undefined) result[name] = value;
    else if (Array.isArray(present)) present.push(value);
    else result[name] = [present, value];
  }
  return result;
}

/**
 * Joins the cookie headers that HTTP/2 clients split: HTTP/1.1 allows only one (RFC 9113, section
 * 8.2.3).
 */
export function joinCookies(list: string[]): string[] {
  if (countHeader(list, 'cookie') < 2) return list;
  const parts: string[] = [];
  const result: string[] = [];
  for (let i = 0; i < list.length; i += 2) {
    if (list[i] === 'cookie') parts.push(list[i + 1]!);
    else result.push(list[i]!, list[i + 1]!);
  }
  result.push('cookie', parts.join('; '));
  return result;
}
