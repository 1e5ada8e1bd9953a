// Reads the arguments of directives. Every function throws CorefileError.

import { isIP } from 'node:net';
import { DurationError, parseDuration } from '#machinery/text/duration.ts';
import { parseServer } from '../../forward/resolv-conf.ts';
import type { SocketAddress } from '../../system/sockets.ts';
import type { Labels } from '../../wire/names.ts';
import type { Directive, Line } from './blocks.ts';
import { CorefileError, type Token } from './tokens.ts';
import { parseZone } from './zones.ts';

/** Returns the arguments. There must be so many of them; `usage`: what is expected. */
export function argumentsOf(
  { name, args }: Line,
  least: number,
  most: number,
  usage: string,
): readonly Token[] {
  if (args.length < least || args.length > most)
    throw new CorefileError(name, `${name.text}: ${usage} expected`);
  return args;
}

/** Returns the only argument. */
export function onlyArgument(line: Line, usage: string): Token {
  const [arg] = argumentsOf(line, 1, 1, usage);
  return arg as Token;
}

export const noArguments = (line: Line): void => void argumentsOf(line, 0, 0, 'no argument is');

/** A block that is given in a directive that has none. */
export function noLines({ name, lines }: Directive): void {
  const [line] = lines;
  if (line !== undefined)
    throw new CorefileError(line.name, `${name.text}: ${line.name.text} is not supported`);
}

export function wholeNumber(token: Token, least: number, most: number): number {
  const value = /^\d{1,9}$/.test(token.text) ? Number(token.text) : NaN;
  if (!(value >= least && value <= most))
    throw new CorefileError(token, `${token.text} is no number from ${least} to ${most}`);
  return value;
}

/** Returns milliseconds. */
export function durationOf(token: Token, leastMs: number): number {
  let value: number;
  try {
    value = parseDuration(token.text);
  } catch (error) {
    if (!(error instanceof DurationError)) throw error;
    throw new CorefileError(token, `${token.text} is no duration such as 30s`);
  }
  if (value < leastMs) throw new CorefileError(token, `${token.text} is too short`);
  return value;
}

/** Returns zones; without any, the ones in `otherwise`. */
export const zonesOf = (
  tokens: readonly Token[],
  otherwise: readonly Labels[],
): readonly Labels[] => (tokens.length === 0 ? otherwise : tokens.map(parseZone));

/** Parses the address of a name server. */
export function serverOf(token: Token): SocketAddress | undefined {
  const [, scheme, rest = ''] = /^(?:([a-z0-9]+):\/\/)?(.*)$/.exec(token.text) ?? [];
  if (scheme !== undefined && scheme !== 'dns')
    throw new CorefileError(token, `${scheme}:// is not supported: plain DNS is`);
  return parseServer(rest);
}

/** Where a server listens: its addresses ('': all), and its port. */
export interface ListenAt {
  readonly host: string;
  readonly port: number;
}

/** Parses `[HOST]:PORT`, where the host is an address, localhost, or missing. */
export function listenAt(token: Token): ListenAt {
  const [, v6, name = '', digits] = /^(?:\[(.*)\]|([^:]*)):(\d{1,5})$/.exec(token.text) ?? [];
  const host = v6 ?? (name === 'localhost' ? '127.0.0.1' : name);
  const port = Number(digits);
  if (!(port >= 1 && port <= 65_535) || (host !== '' && isIP(host) === 0))
    throw new CorefileError(token, `${token.text} is no address and port such as :8080`);
  return { host, port };
}

/** Refuses a property that a directive does not have here. */
export function unknownProperty(directive: Directive, { name }: Line, known: string): never {
  throw new CorefileError(
    name,
    `${directive.name.text}: ${name.text} is not supported (supported: ${known})`,
  );
}
