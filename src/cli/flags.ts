// Values of flags that more than one command takes.

import { isIP } from 'node:net';
import { InvalidArgumentError, Option } from 'commander';
import { DurationError, parseDuration } from '#machinery/text/duration.ts';

export const port = (text: string): number => {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value > 65535)
    throw new InvalidArgumentError('a port is a whole number from 0 to 65535.');
  return value;
};

/** Milliseconds. */
export const duration = (text: string): number => {
  try {
    return parseDuration(text);
  } catch (error) {
    if (error instanceof DurationError)
      throw new InvalidArgumentError('a duration is such as 15s or 1m30s.');
    throw error;
  }
};

/** `--flag`, `--flag=true` or `--flag=false`. */
export const yesOrNo = (text: string): boolean => {
  if (text !== 'true' && text !== 'false') throw new InvalidArgumentError('true or false.');
  return text === 'true';
};

/** The data directory of clusters whose user names none. */
export const DEFAULT_DATA_DIR = '.coxswain';

export const dataDirOption = (description = 'the data directory of the cluster'): Option =>
  new Option('--data-dir <dir>', description).default(DEFAULT_DATA_DIR);

/** `--console`: of commands that run an API server. */
export const consoleOption = (): Option =>
  new Option('--console [bool]', 'serve the web console at /console/ of the port')
    .argParser(yesOrNo)
    .preset('true')
    .default(true);

export const POOL_HELP =
  'addresses for services of type LoadBalancer: 10.0.0.240-10.0.0.250,fd00::/120 (default: those of nodes)';

export const list = (text: string): string[] => text.split(',').filter((item) => item !== '');

/** Parses '23,29'. */
export const integers = (text: string): readonly number[] => list(text).map(integer);

export const count = (text: string): number => {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new InvalidArgumentError('a whole number, 1 or more.');
  return Number(text);
};

/** Returns a parser of whole numbers from 1. `what`: as in 'a network identifier'. */
export const numberUpTo =
  (max: number, what: string) =>
  (text: string): number => {
    const value = Number(text);
    if (!/^[1-9]\d*$/.test(text) || value > max)
      throw new InvalidArgumentError(`${what} is a whole number from 1 to ${max}.`);
    return value;
  };

/** Parses 'a=true,b=false,c', and adds the settings to those of earlier flags. */
export const settings = (
  text: string,
  before: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> => {
  const pairs = list(text).map((item) => {
    const sign = item.indexOf('=');
    return (sign < 0 ? [item, ''] : [item.slice(0, sign), item.slice(sign + 1)]).map((part) =>
      part.trim(),
    );
  });
  return { ...before, ...Object.fromEntries(pairs as [string, string][]) };
};

/** 'a=b,c=d'. */
export const labels = (text: string): Record<string, string> =>
  Object.fromEntries(
    list(text).map((item) => {
      const [key = '', value, ...more] = item.split('=');
      if (key === '' || value === undefined || more.length > 0)
        throw new InvalidArgumentError('labels are such as a=b,c=d.');
      return [key, value];
    }),
  );

/** Adds one value of a flag that may be repeated. Values may contain commas. */
export const repeated = (text: string, before: readonly string[] = []): readonly string[] => [
  ...before,
  text,
];

export const wholeNumber = (text: string): number => {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('a whole number, 0 or more.');
  return Number(text);
};

export const number = (text: string): number => {
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value)) throw new InvalidArgumentError('not a number');
  return value;
};

export const integer = (text: string): number => {
  if (!/^-?\d{1,9}$/.test(text)) throw new InvalidArgumentError('a whole number.');
  return Number(text);
};

/** Upstream's number of log verbosity. */
export const logLevel = (text: string): number => {
  if (!/^-?\d{1,9}$/.test(text)) throw new InvalidArgumentError('a whole number.');
  return Number(text);
};

/** Parses an IP address. Like upstream, it accepts no host names. */
export const ipAddress = (text: string): string => {
  if (isIP(text) === 0) throw new InvalidArgumentError('an IP address, such as 10.0.0.1.');
  return text;
};

/** IP addresses with commas between them. */
export const addresses = (text: string): readonly string[] => list(text).map(ipAddress);

export const address = (text: string): string => {
  if (isIP(text) === 0 && text !== 'localhost')
    throw new InvalidArgumentError('an IP address, such as 127.0.0.1.');
  return text;
};
