// The formats of names, labels and other texts. Each check returns one message per problem, with
// upstream's wording. An empty list means that the value is valid.

import { isIP } from 'node:net';
import * as field from './field.ts';
import type { FieldErrorList, FieldPath } from './field.ts';

type Problems = readonly string[];

const NONE: Problems = [];

/** A format: its pattern as shown in messages, and compiled to match the whole value. */
interface Format {
  readonly source: string;
  readonly pattern: RegExp;
  /** The beginning of the message, before the pattern and examples. */
  readonly message: string;
  readonly examples: readonly string[];
}

function format(source: string, message: string, ...examples: readonly string[]): Format {
  return { source, pattern: new RegExp(`^${source}$`), message, examples };
}

const LABEL_SOURCE = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const UNDERSCORE_LABEL_SOURCE = '_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?';
const SUBDOMAIN_SOURCE = `${LABEL_SOURCE}(\\.${LABEL_SOURCE})*`;
const NAME_SOURCE = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]';

const DNS1123_LABEL = format(
  LABEL_SOURCE,
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', " +
    'and must start and end with an alphanumeric character',
  'my-name',
  '123-abc',
);
const DNS1123_SUBDOMAIN = format(
  SUBDOMAIN_SOURCE,
  'a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, ' +
    "'-' or '.', and must start and end with an alphanumeric character",
  'example.com',
);
const DNS1123_SUBDOMAIN_WITH_UNDERSCORE = format(
  `${UNDERSCORE_LABEL_SOURCE}(\\.${UNDERSCORE_LABEL_SOURCE})*`,
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', " +
    "'-' or '.', and must start and end with an alphanumeric character",
  'example.com',
);
const WILDCARD_DNS1123_SUBDOMAIN = format(
  `\\*\\.${SUBDOMAIN_SOURCE}`,
  "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, " +
    'which must consist of lower case alphanumeric characters, ' +
    "'-' or '.' and end with an alphanumeric character",
  '*.example.com',
);
const DNS1035_LABEL = format(
  '[a-z]([-a-z0-9]*[a-z0-9])?',
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', " +
    'start with an alphabetic character, and end with an alphanumeric character',
  'my-name',
  'abc-123',
);
const LABEL_KEY_NAME = format(
  NAME_SOURCE,
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
  'MyName',
  'my.name',
  '123-abc',
);
const LABEL_VALUE = format(
  `(${NAME_SOURCE})?`,
  "a valid label must be an empty string or consist of alphanumeric characters, '-', " +
    "'_' or '.', and must start and end with an alphanumeric character",
  'MyValue',
  'my_value',
  '12345',
);
const C_IDENTIFIER = format(
  '[A-Za-z_][A-Za-z0-9_]*',
  "a valid C identifier must start with alphabetic character or '_', " +
    "followed by a string of alphanumeric characters or '_'",
  'my_name',
  'MY_NAME',
  'MyName',
);
const ENV_VAR_NAME = format(
  '[-._a-zA-Z][-._a-zA-Z0-9]*',
  "a valid environment variable name must consist of alphabetic characters, digits, '_', " +
    "'-', or '.', and must not start with a digit",
  'my.env-name',
  'MY_ENV.NAME',
  'MyEnvName1',
);
const CONFIG_MAP_KEY = format(
  '[-._a-zA-Z0-9]+',
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
  'key.name',
  'KEY_NAME',
  'key-name',
);
const PERCENT = format(
  '[0-9]+%',
  "a valid percent string must be a numeric string followed by an ending '%'",
  '1%',
  '93%',
);
const HTTP_HEADER_NAME = format(
  '[-A-Za-z0-9]+',
  "a valid HTTP header must consist of alphanumeric characters or '-'",
  'X-Header-Name',
);

const LABEL_VALUE_MAX_LENGTH = 63;
export const DNS1123_LABEL_MAX_LENGTH = 63;
export const DNS1123_SUBDOMAIN_MAX_LENGTH = 253;
export const DNS1035_LABEL_MAX_LENGTH = 63;

/** Checks a DNS label after RFC 1123: namespaces, containers, volumes. */
export function isDNS1123Label(value: string): Problems {
  if (value.length <= DNS1123_LABEL_MAX_LENGTH && DNS1123_LABEL.pattern.test(value)) return NONE;
  const problems = tooLong(value, DNS1123_LABEL_MAX_LENGTH);
  if (DNS1123_LABEL.pattern.test(value)) return problems;
  problems.push(
    DNS1123_SUBDOMAIN.pattern.test(value) ? 'must not contain dots' : explain(DNS1123_LABEL),
  );
  return problems;
}

/** Checks a DNS name after RFC 1123: the names of most objects. */
export function isDNS1123Subdomain(value: string): Problems {
  return checkFormat(value, DNS1123_SUBDOMAIN, DNS1123_SUBDOMAIN_MAX_LENGTH);
}

/** Checks a DNS name whose parts may contain underscores: searches of a pod's DNS configuration. */
export function isDNS1123SubdomainWithUnderscore(value: string): Problems {
  return checkFormat(value, DNS1123_SUBDOMAIN_WITH_UNDERSCORE, DNS1123_SUBDOMAIN_MAX_LENGTH);
}

/** Checks '*.' and a DNS name: hosts of an Ingress. */
export function isWildcardDNS1123Subdomain(value: string): Problems {
  return checkFormat(value, WILDCARD_DNS1123_SUBDOMAIN, DNS1123_SUBDOMAIN_MAX_LENGTH);
}

/** Checks a DNS label after RFC 1035, which begins with a letter: services. */
export function isDNS1035Label(value: string): Problems {
  return checkFormat(value, DNS1035_LABEL, DNS1035_LABEL_MAX_LENGTH);
}

/**
 * Checks the key of a label, annotation, taint or extended resource: an optional DNS name and '/',
 * then a name.
 */
export function isQualifiedName(value: string): Problems {
  const parts = value.split('/');
  if (parts.length > 2) {
    return [
      `a valid label key ${explain(LABEL_KEY_NAME)} with an optional DNS subdomain prefix ` +
        "and '/' (e.g. 'example.com/MyName')",
    ];
  }
  const problems: string[] = [];
  const name = parts.at(-1)!;
  if (parts.length === 2) {
    const prefix = parts[0]!;
    if (prefix === '') problems.push('prefix part must be non-empty');
    else {
      if (byteLength(prefix) > DNS1123_SUBDOMAIN_MAX_LENGTH)
        problems.push(`prefix part ${maxBytes(DNS1123_SUBDOMAIN_MAX_LENGTH)}`);
      if (!DNS1123_SUBDOMAIN.pattern.test(prefix))
        problems.push(`prefix part ${explain(DNS1123_SUBDOMAIN)}`);
    }
  }
  if (name === '') problems.push('name part must be non-empty');
  else if (byteLength(name) > 63) problems.push(`name part ${maxBytes(63)}`);
  if (!LABEL_KEY_NAME.pattern.test(name)) problems.push(`name part ${explain(LABEL_KEY_NAME)}`);
  return problems;
}

export function isValidLabelValue(value: string): Problems {
  const matches = LABEL_VALUE.pattern.test(value);
  if (matches && value.length <= LABEL_VALUE_MAX_LENGTH) return NONE;
  const problems: string[] = [];
  if (byteLength(value) > LABEL_VALUE_MAX_LENGTH) problems.push(maxBytes(LABEL_VALUE_MAX_LENGTH));
  if (!matches) problems.push(explain(LABEL_VALUE));
  return problems;
}

/** Checks a C identifier, also the form of a condition's reason. Its length is not limited. */
export function isCIdentifier(value: string): Problems {
  return checkFormat(value, C_IDENTIFIER, Number.POSITIVE_INFINITY);
}

/** Checks the older, stricter form of an environment variable's name. */
export function isEnvVarName(value: string): Problems {
  return [
    ...checkFormat(value, ENV_VAR_NAME, Number.POSITIVE_INFINITY),
    ...parentPathProblems(value),
  ];
}

/** Checks the relaxed form of an environment variable's name: printable ASCII without '='. */
export function isRelaxedEnvVarName(value: string): Problems {
  if (value === '') return ['environment variable name must be non-empty'];
  if (/^[ -<>-~]+$/.test(value)) return NONE;
  return [
    "a valid environment variable name must consist only of printable ASCII characters other than '='",
  ];
}

/** Checks the key of a ConfigMap or Secret, which may become a file name. */
export function isConfigMapKey(value: string): Problems {
  const problems = checkFormat(value, CONFIG_MAP_KEY, DNS1123_SUBDOMAIN_MAX_LENGTH);
  const leading = parentPathProblems(value);
  return leading.length === 0 ? problems : [...problems, ...leading];
}

export function isValidPortNum(port: number): Problems {
  return isInRange(port, 1, 65535);
}

/** Checks the name of a port: an IANA service name (RFC 6335) in lower case. */
export function isValidPortName(value: string): Problems {
  const problems = tooLong(value, 15);
  if (!/^[-a-z0-9]+$/.test(value))
    problems.push('must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)');
  if (!/[a-z]/.test(value)) problems.push('must contain at least one letter (a-z)');
  if (value.includes('--')) problems.push('must not contain consecutive hyphens');
  if (value.startsWith('-') || value.endsWith('-'))
    problems.push('must not begin or end with a hyphen');
  return problems;
}

/** Checks that the value is in a range, both ends included. */
export function isInRange(value: number, min: number, max: number): Problems {
  return value >= min && value <= max ? NONE : [`must be between ${min} and ${max}, inclusive`];
}

/** The largest ID that runtimes accept: 31 bits. */
const MAX_ID = 2 ** 31 - 1;

export function isValidUserID(id: number): Problems {
  return isInRange(id, 0, MAX_ID);
}

export function isValidGroupID(id: number): Problems {
  return isInRange(id, 0, MAX_ID);
}

export function isValidPercent(value: string): Problems {
  return checkFormat(value, PERCENT, Number.POSITIVE_INFINITY);
}

export function isHTTPHeaderName(value: string): Problems {
  return checkFormat(value, HTTP_HEADER_NAME, Number.POSITIVE_INFINITY);
}

/** Checks an IPv4 or IPv6 address. */
export function isValidIP(value: string): Problems {
  // The API does not allow a zone ('%eth0') in an address.
  return isIP(value) !== 0 && !value.includes('%')
    ? NONE
    : ['must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'];
}

/** Checks an address with a prefix length, such as 10.9.8.0/24. */
export function isValidCIDR(value: string): Problems {
  const parts = value.split('/');
  const family = isIP(parts[0]!);
  const length = parts[1] ?? '';
  const good =
    parts.length === 2 &&
    family !== 0 &&
    !value.includes('%') &&
    /^(0|[1-9]\d{0,2})$/.test(length) &&
    Number(length) <= (family === 4 ? 32 : 128);
  return good ? NONE : ['must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)'];
}

const HTTP_PATH_SOURCE = "[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+";
const HTTP_PATH = new RegExp(`^${HTTP_PATH_SOURCE}$`);

/** Validates a DNS name, '/', and a path. The domain names the owner (acme.io/foo). */
export function validateDomainPrefixedPath(value: string, at: FieldPath): FieldErrorList {
  if (value === '') return [field.required(at)];
  const slash = value.indexOf('/');
  const host = value.slice(0, Math.max(slash, 0));
  const path = value.slice(slash + 1);
  if (host === '' || path === '')
    return [field.invalid(at, value, 'must be a domain-prefixed path (such as "acme.io/foo")')];
  const errors = isDNS1123Subdomain(host).map((problem) => field.invalid(at, host, problem));
  if (!HTTP_PATH.test(path))
    errors.push(field.invalid(at, path, regexError('Invalid path', HTTP_PATH_SOURCE)));
  return errors;
}

/** The message for a number that must not be negative. */
export const IS_NEGATIVE_MESSAGE = 'must be greater than or equal to 0';

/** Validates the key of a label at `at`. */
export function validateLabelName(name: string, at: FieldPath): FieldErrorList {
  return isQualifiedName(name).map((problem) => field.invalid(at, name, problem));
}

/** Validates a map of labels at `at`. The errors are in the order of the keys. */
export function validateLabels(
  labels: Readonly<Record<string, string>> | undefined,
  at: FieldPath,
): FieldErrorList {
  const errors: FieldErrorList = [];
  for (const key of Object.keys(labels ?? {}).sort()) {
    const value = labels![key]!;
    errors.push(...validateLabelName(key, at));
    errors.push(...isValidLabelValue(value).map((problem) => field.invalid(at, value, problem)));
  }
  return errors;
}

/** Returns upstream's message for a value that does not match a pattern. */
export function regexError(
  message: string,
  source: string,
  ...examples: readonly string[]
): string {
  const shown = examples.map((example) => `'${example}', `).join(' or ');
  return `${message} (${examples.length === 0 ? '' : `e.g. ${shown}`}regex used for validation is '${source}')`;
}

/** Returns upstream's message for a value that is too long. */
export function maxLenError(length: number): string {
  return `must be no more than ${length} characters`;
}

function maxBytes(length: number): string {
  return `must be no more than ${length} bytes`;
}

function explain({ message, source, examples }: Format): string {
  return regexError(message, source, ...examples);
}

function checkFormat(value: string, expected: Format, maxLength: number): Problems {
  const matches = expected.pattern.test(value);
  if (matches && value.length <= maxLength) return NONE;
  const problems = tooLong(value, maxLength);
  if (!matches) problems.push(explain(expected));
  return problems;
}

function tooLong(value: string, maxLength: number): string[] {
  return byteLength(value) > maxLength ? [maxLenError(maxLength)] : [];
}

function byteLength(value: string): number {
  return Buffer.byteLength(value);
}

/** Checks that a key does not lead to another directory when it becomes a file name. */
function parentPathProblems(value: string): Problems {
  if (value === '.') return ["must not be '.'"];
  if (value === '..') return ["must not be '..'"];
  return value.startsWith('..') ? ["must not start with '..'"] : NONE;
}
