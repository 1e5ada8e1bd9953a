// Zones and server keys of a Corefile.

import { bitsOf, type IpRange, parseCidr } from '#machinery/net/ip.ts';
import { parseName, type Labels } from '../../wire/names.ts';
import { CorefileError, type Token } from './tokens.ts';

export interface ServerKey {
  readonly zone: Labels;
  readonly port: number | undefined;
}

/** Parses `[dns://]ZONE[:PORT]`. Throws CorefileError. */
export function parseServerKey(token: Token): ServerKey {
  const [, scheme, rest = ''] = /^(?:([a-z0-9]+):\/\/)?(.*)$/.exec(token.text) ?? [];
  if (scheme !== undefined && scheme !== 'dns')
    throw new CorefileError(token, `${scheme}:// is not supported: plain DNS is`);
  const [, zone = '', digits] = /^(.*?)(?::(\d+))?$/.exec(rest) ?? [];
  const port = digits === undefined ? undefined : Number(digits);
  if (port !== undefined && (port < 1 || port > 65_535))
    throw new CorefileError(token, `${digits} is no port`);
  return { zone: parseZone({ ...token, text: zone === '' ? '.' : zone }), port };
}

/**
 * Parses a domain, or a range of addresses that is a zone of their names: 10.0.0.0/8 is
 * 10.in-addr.arpa. Throws CorefileError.
 */
export function parseZone(token: Token): Labels {
  const { text } = token;
  const range = text.includes('/') ? parseCidr(text) : undefined;
  if (range !== undefined) return reverseZone(token, range);
  const labels = parseName(text);
  if (labels === undefined || text === '' || text.includes('/'))
    throw new CorefileError(token, `${JSON.stringify(text)} is not a domain`);
  return labels;
}

export const isReverse = (zone: Labels): boolean =>
  zone.at(-1) === 'arpa' && (zone.at(-2) === 'in-addr' || zone.at(-2) === 'ip6');

function reverseZone(token: Token, range: IpRange): Labels {
  const { family, prefix, first } = range;
  const [bits, radix, suffix]: readonly [number, number, string] =
    family === 'IPv4' ? [8, 10, 'in-addr'] : [4, 16, 'ip6'];
  if (prefix % bits !== 0)
    throw new CorefileError(
      token,
      `${token.text} is no zone: its prefix is no multiple of ${bits}`,
    );
  const labels: string[] = [];
  for (let end = bits; end <= prefix; end += bits) {
    const digit = (first >> BigInt(bitsOf(family) - end)) & BigInt((1 << bits) - 1);
    labels.unshift(digit.toString(radix));
  }
  return [...labels, suffix, 'arpa'];
}
