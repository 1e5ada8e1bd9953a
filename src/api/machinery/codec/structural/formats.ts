// The formats of texts that upstream validates. Other formats are ignored.

import { formatDurationNanoseconds } from '#cel/index.ts';
import { parseUrl, UrlError } from '#cel/library/url-text.ts';
import { parseIp } from '#machinery/net/ip.ts';
import { isEmail } from './email.ts';

type Check = (text: string) => boolean;

const matching =
  (pattern: RegExp): Check =>
  (text) =>
    pattern.test(text);

/**
 * Returns the format for a schema of the type; '' if the format is ignored there. Dashes in names
 * of formats are not significant.
 */
export function formatOf(type: string, format: string | null | undefined): string {
  if (format === undefined || format === null || format === '') return '';
  switch (type) {
    case '':
    case 'string':
      return checkOfFormat(format) === undefined ? '' : format;
    case 'integer':
      return format === 'int32' || format === 'int64' ? format : '';
    case 'number':
      return format === 'float' || format === 'double' ? format : '';
    default:
      return '';
  }
}

/** Returns the check of the format; undefined if the format is unknown. */
export function checkOfFormat(format: string): Check | undefined {
  const name = format.replaceAll('-', '');
  const check = CHECKS.get(name);
  if (check === undefined || LONG_FORMATS.has(name)) return check;
  return (text) => text.length <= MAX_LENGTH && check(text);
}

/** The formats of texts of any length. */
const LONG_FORMATS: ReadonlySet<string> = new Set(['byte', 'password', 'uri']);
/** The maximum length of texts of other formats, in UTF-16 units. Upstream has no limit. */
const MAX_LENGTH = 65_536;

const HEX = '[0-9a-fA-F]';
const uuid = (third: string, fourth: string): Check =>
  matching(new RegExp(`^${HEX}{8}-?${HEX}{4}-?${third}-?${fourth}-?${HEX}{12}$`));
const ANY_GROUP = `${HEX}{4}`;
const VARIANT_GROUP = `[89abAB]${HEX}{3}`;
const PART_OF_COLOR = '(0|[1-9]\\d?|1\\d\\d?|2[0-4]\\d|25[0-5])';

const CHECKS: ReadonlyMap<string, Check> = new Map<string, Check>([
  ['bsonobjectid', matching(/^[0-9a-fA-F]{24}$/)],
  ['uri', isRequestUri],
  ['email', isEmail],
  ['hostname', isHostname],
  [
    'ipv4',
    (text) =>
      isLenientIpv4(text) || (text.includes('.') && text.includes(':') && isLenientIpv6(text)),
  ],
  ['ipv6', (text) => text.includes(':') && parseIp(text) !== undefined],
  ['cidr', isCidr],
  ['mac', isMac],
  ['uuid', uuid(ANY_GROUP, ANY_GROUP)],
  ['uuid3', uuid(`3${HEX}{3}`, ANY_GROUP)],
  ['uuid4', uuid(`4${HEX}{3}`, VARIANT_GROUP)],
  ['uuid5', uuid(`5${HEX}{3}`, VARIANT_GROUP)],
  ['isbn', (text) => isIsbn10(text) || isIsbn13(text)],
  ['isbn10', isIsbn10],
  ['isbn13', isIsbn13],
  ['creditcard', isCreditCard],
  ['ssn', (text) => text.length === 11 && /^\d{3}[- ]?\d{2}[- ]?\d{4}$/.test(text)],
  ['hexcolor', matching(/^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$/)],
  [
    'rgbcolor',
    matching(
      new RegExp(
        `^rgb\\(\\s*${PART_OF_COLOR}\\s*,\\s*${PART_OF_COLOR}\\s*,\\s*${PART_OF_COLOR}\\s*\\)$`,
      ),
    ),
  ],
  ['byte', isBase64],
  ['password', () => true],
  ['date', isDate],
  ['duration', (text) => formatDurationNanoseconds(text) !== undefined],
  ['datetime', isDateTime],
  ['k8sshortname', (text) => text.length <= 63 && /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(text)],
  [
    'k8slongname',
    (text) =>
      text.length <= 253 &&
      /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/.test(text),
  ],
]);

/**
 * Reports whether the text is an absolute URL, an absolute path, or the asterisk of HTTP's OPTIONS.
 */
function isRequestUri(text: string): boolean {
  if (text === '*') return true;
  try {
    parseUrl(text, false);
    return true;
  } catch (error) {
    if (error instanceof UrlError) return false;
    throw error;
  }
}

/** Reports whether the text is four numbers up to 255, also with leading zeros. */
function isLenientIpv4(text: string): boolean {
  const parts = text.split('.');
  return parts.length === 4 && parts.every((part) => /^\d+$/.test(part) && Number(part) <= 255);
}

function isCidr(text: string): boolean {
  const slash = text.indexOf('/');
  if (slash < 0) return false;
  const [address, prefix] = [text.slice(0, slash), text.slice(slash + 1)];
  if (!/^\d+$/.test(prefix)) return false;
  if (isLenientIpv4(address)) return Number(prefix) <= 32;
  return address.includes(':') && isLenientIpv6(address) && Number(prefix) <= 128;
}

/** Reports whether the text is an IPv6 address, also with an ending that isLenientIpv4 accepts. */
function isLenientIpv6(text: string): boolean {
  const end = text.slice(text.lastIndexOf(':') + 1);
  if (!end.includes('.')) return parseIp(text) !== undefined;
  return isLenientIpv4(end) && parseIp(`${text.slice(0, -end.length)}1.2.3.4`) !== undefined;
}

/**
 * Reports whether the text is 6, 8 or 20 bytes, with ':' or '-' between all of them or '.' between
 * pairs.
 */
function isMac(text: string): boolean {
  for (const bytes of [6, 8, 20]) {
    if (new RegExp(`^${HEX}{2}([:-])(?:${HEX}{2}\\1){${bytes - 2}}${HEX}{2}$`).test(text))
      return true;
    if (new RegExp(`^${HEX}{4}(?:\\.${HEX}{4}){${bytes / 2 - 1}}$`).test(text)) return true;
  }
  return false;
}

const withoutSpace = (text: string): string => text.replaceAll(/[\t\n\f\r -]+/g, '');
const digit = (text: string, index: number): number => text.charCodeAt(index) - 48;

function isIsbn10(text: string): boolean {
  const number = withoutSpace(text);
  if (!/^(?:[0-9]{9}X|[0-9]{10})$/.test(number)) return false;
  let sum = 0;
  for (let i = 0; i < 9; i++) sum += (i + 1) * digit(number, i);
  sum += 10 * (number.endsWith('X') ? 10 : digit(number, 9));
  return sum % 11 === 0;
}

function isIsbn13(text: string): boolean {
  const number = withoutSpace(text);
  if (!/^[0-9]{13}$/.test(number)) return false;
  let sum = 0;
  for (let i = 0; i < 12; i++) sum += (i % 2 === 0 ? 1 : 3) * digit(number, i);
  return digit(number, 12) === (10 - (sum % 10)) % 10;
}

/** The numbers of cards, an alternative for each group of issuers. */
const CARD = new RegExp(
  `^(?:${[
    '4[0-9]{12}(?:[0-9]{3})?',
    '5[1-5][0-9]{14}',
    '6(?:011|5[0-9][0-9])[0-9]{12}',
    '3[47][0-9]{13}',
    '3(?:0[0-5]|[68][0-9])[0-9]{11}',
    '(?:2131|1800|35\\d{3})\\d{11}',
  ].join('|')})$`,
);

/**
 * Reports whether the text is a card number by the issuer's pattern and Luhn's checksum. Other
 * characters are ignored.
 */
function isCreditCard(text: string): boolean {
  const number = text.replaceAll(/[^0-9]+/g, '');
  if (!CARD.test(number)) return false;
  let sum = 0;
  for (let i = 0; i < number.length; i++) {
    const doubled = digit(number, number.length - 1 - i) * (i % 2 === 0 ? 1 : 2);
    sum += doubled > 9 ? doubled - 9 : doubled;
  }
  return sum % 10 === 0;
}

/**
 * Reports whether the text is base64 with padding, and not empty: groups of four, the last of which
 * may end with = or ==.
 */
function isBase64(text: string): boolean {
  if (text === '' || text.length % 4 !== 0) return false;
  return /^[A-Za-z0-9+/]*={0,2}$/.test(text);
}

const DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** Reports whether the text is an existing full-date of RFC 3339. */
function isDate(text: string): boolean {
  const [, year, month, day] = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text) ?? [];
  const days = DAYS[Number(month) - 1];
  if (days === undefined) return false;
  const isLeap = Number(year) % 4 === 0 && (Number(year) % 100 !== 0 || Number(year) % 400 === 0);
  return Number(day) >= 1 && Number(day) <= (month === '02' && isLeap ? 29 : days);
}

/**
 * Reports whether the text is a date-time. Like upstream, it checks only the first two parts around
 * the letter T.
 */
function isDateTime(text: string): boolean {
  const [date = '', time] = text.toLowerCase().split('t');
  if (time === undefined || !isDate(date)) return false;
  const [, hours = '', minutes = '', seconds = ''] =
    /^([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$/u.exec(time) ?? [];
  return hours !== '' && hours <= '23' && minutes <= '59' && seconds <= '59';
}

const HOST_CHARACTER = '[a-zA-Z0-9\\p{S}\\p{L}]';
const HOST_NAME = new RegExp(
  `^(${HOST_CHARACTER}((-?${HOST_CHARACTER}{0,62})?)|` +
    `(${HOST_CHARACTER}(([a-zA-Z0-9\\-\\p{S}\\p{L}]{0,61}${HOST_CHARACTER})?)(\\.)){1,` +
    '}([a-zA-Z\\p{L}]){2,63})$',
  'u',
);

/**
 * Reports whether the text is a host name: at most 255 bytes, labels of at most 63. The limits also
 * keep the pattern fast.
 */
function isHostname(text: string): boolean {
  if (text.length > 255 || Buffer.byteLength(text) > 255) return false;
  return text.split('.').every((label) => Buffer.byteLength(label) <= 63) && HOST_NAME.test(text);
}
