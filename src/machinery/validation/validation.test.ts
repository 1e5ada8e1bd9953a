import { describe, expect, test } from 'vitest';
import * as field from './field.ts';
import * as validation from './validation.ts';

const LABEL_MESSAGE =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', " +
  "and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', " +
  "regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const SUBDOMAIN_MESSAGE =
  'a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, ' +
  "'-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', " +
  'regex used for validation is ' +
  "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const NAME_MESSAGE =
  "must consist of alphanumeric characters, '-', '_' or '.', " +
  "and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name', " +
  " or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

/** Valid and invalid values of each check. */
const TABLE: Record<
  string,
  { check: (value: string) => readonly string[]; good: string[]; bad: string[] }
> = {
  isDNS1123Label: {
    check: validation.isDNS1123Label,
    good: [
      'a',
      'ab',
      'abc',
      'a1',
      'a-1',
      'a--1--2--b',
      '0',
      '01',
      '012',
      '1a',
      '1-a',
      '1--a--b--2',
      'a'.repeat(63),
    ],
    bad: [
      '',
      'A',
      'ABC',
      'aBc',
      '-',
      'a-',
      '-a',
      '1-',
      '-1',
      '_',
      'a_',
      'a_b',
      '.',
      'a.',
      '.a',
      'a.b',
      ' ',
      'a ',
      'a\n',
      'a'.repeat(64),
    ],
  },
  isDNS1123Subdomain: {
    check: validation.isDNS1123Subdomain,
    good: ['a', 'a.b', 'a.b.c', '0.0', 'a-1.b', '1.2.3.4', `${'a'.repeat(126)}.${'b'.repeat(126)}`],
    bad: ['', 'A', 'a..b', '.a', 'a.', 'a.-b', 'a_b', 'a b', 'ä', 'a'.repeat(254)],
  },
  isDNS1123SubdomainWithUnderscore: {
    check: validation.isDNS1123SubdomainWithUnderscore,
    good: ['_tcp.example.com', 'a_b.c', 'a.b'],
    bad: ['', '__a', 'a_', 'A', '_'],
  },
  isWildcardDNS1123Subdomain: {
    check: validation.isWildcardDNS1123Subdomain,
    good: ['*.example.com', '*.a'],
    bad: ['*', '*.', 'a.com', '*.*.com', '**.com', 'a.*.com', '*a.com'],
  },
  isDNS1035Label: {
    check: validation.isDNS1035Label,
    good: ['a', 'abc', 'a-1', 'a'.repeat(63)],
    bad: ['', '0', '1a', '-a', 'a-', 'A', 'a.b', 'a'.repeat(64)],
  },
  isQualifiedName: {
    check: validation.isQualifiedName,
    good: [
      'simple',
      'now-with-dashes',
      '1-starts-with-num',
      '1234',
      'simple/simple',
      'now-with-dashes/simple',
      'now.with.dots/simple',
      '1.2.3.4/5678',
      'Uppercase_Is_OK_123',
      'example.com/Uppercase_Is_OK_123',
      'requests.storage-foo',
      'a'.repeat(63),
      `${'a'.repeat(253)}/${'b'.repeat(63)}`,
    ],
    bad: [
      '',
      'nospecialchars%^=@',
      'cantendwithadash-',
      '-cantstartwithadash',
      'only/one/slash',
      'Example.com/abc',
      'example_com/abc',
      'example.com/',
      '/simple',
      'a'.repeat(64),
      `${'a'.repeat(254)}/abc`,
    ],
  },
  isValidLabelValue: {
    check: validation.isValidLabelValue,
    good: [
      '',
      'simple',
      'now-with-dashes',
      'now.with.dots',
      '1234',
      'A_B',
      'end-with-num-1',
      'a'.repeat(63),
    ],
    bad: [
      'nospecialchars%^=@',
      'Tama-nui-te-rā.is.Māori.sun',
      '-starts-with-dash',
      'ends-with-dash-',
      '.a',
      'a/b',
      'a'.repeat(64),
    ],
  },
  isCIdentifier: {
    check: validation.isCIdentifier,
    good: ['a', 'AB', '_a', 'a_B1', 'FailedScheduling'],
    bad: ['', '1a', 'a-b', 'a.b', 'a b'],
  },
  isEnvVarName: {
    check: validation.isEnvVarName,
    good: ['a', 'ABC', '_', 'a.b-c_1', '-a', '.a'],
    bad: ['', '1', 'a=b', 'a b', '.', '..', '..a', '$A'],
  },
  isRelaxedEnvVarName: {
    check: validation.isRelaxedEnvVarName,
    good: ['a', '1', 'a b', '-_-', '..', '!#$%'],
    bad: ['', '=', 'a=b', 'ä', 'a\t', '\x7f'],
  },
  isConfigMapKey: {
    check: validation.isConfigMapKey,
    good: [
      'a',
      'good',
      'key.name',
      '.dotfile',
      '-x',
      'A_B',
      '1',
      'a..b',
      '.'.concat('a'.repeat(252)),
    ],
    bad: ['', '.', '..', '..bad', 'b*d', 'bad!', 'a/b', 'a b', 'a'.repeat(254)],
  },
  isValidPortName: {
    check: validation.isValidPortName,
    good: ['telnet', 're-mail-ck', 'pop3', 'a', 'a-1', '1-a', 'a-1-b-2-c', '1-a-2-b-3'],
    bad: [
      '',
      'longerthan15characters',
      '12345',
      '1-2-3-4',
      '-begin',
      'end-',
      'two--hyphens',
      'whois++',
      'WHO',
    ],
  },
  isValidPercent: {
    check: validation.isValidPercent,
    good: ['0%', '1%', '93%', '100%', '00100%'],
    bad: ['', '1', '%', '-1%', '1.5%', '1%%', 'a%'],
  },
  isHTTPHeaderName: {
    check: validation.isHTTPHeaderName,
    good: ['A-B', 'X-Header-Name', 'a1'],
    bad: ['', 'A B', 'Host:', 'a_b'],
  },
  isValidIP: {
    check: validation.isValidIP,
    good: ['1.2.3.4', '0.0.0.0', '::1', '2001:db8::ffff', '::ffff:1.2.3.4'],
    bad: [
      '',
      '1.2.3',
      '1.2.3.4.5',
      '256.1.1.1',
      '01.2.3.4',
      '1.2.3.4/24',
      'fe80::1%eth0',
      'aaa',
      '[::1]',
    ],
  },
  isValidCIDR: {
    check: validation.isValidCIDR,
    good: ['10.9.8.0/24', '0.0.0.0/0', '10.0.0.1/32', '2001:db8::/64', '::/128'],
    bad: [
      '',
      '10.9.8.0',
      '10.9.8.0/33',
      '10.9.8.0/-1',
      '10.9.8.0/01',
      '10.9.8.0/',
      '10.9.8.0/a',
      '::/129',
      '1.2.3.4/24/24',
    ],
  },
};

describe.each(Object.entries(TABLE))('%s', (_name, { check, good, bad }) => {
  test.each(good)('accepts %j', (value) => {
    expect(check(value)).toEqual([]);
  });
  test.each(bad)('rejects %j', (value) => {
    expect(check(value).length).toBeGreaterThan(0);
  });
});

describe('messages', () => {
  test("equal Kubernetes' messages", () => {
    expect(validation.isDNS1123Label('A')).toEqual([LABEL_MESSAGE]);
    expect(validation.isDNS1123Label('a.b')).toEqual(['must not contain dots']);
    expect(validation.isDNS1123Label('a'.repeat(64))).toEqual([
      'must be no more than 63 characters',
    ]);
    expect(validation.isDNS1123Label('A'.repeat(64))).toEqual([
      'must be no more than 63 characters',
      LABEL_MESSAGE,
    ]);
    expect(validation.isDNS1123Subdomain('A')).toEqual([SUBDOMAIN_MESSAGE]);
    expect(validation.isDNS1035Label('1')).toEqual([
      "a DNS-1035 label must consist of lower case alphanumeric characters or '-', " +
        'start with an alphabetic character, and end with an alphanumeric character (e.g. ' +
        "'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
    ]);
    expect(validation.isQualifiedName('')).toEqual([
      'name part must be non-empty',
      `name part ${NAME_MESSAGE}`,
    ]);
    expect(validation.isQualifiedName('/a')).toEqual(['prefix part must be non-empty']);
    expect(validation.isQualifiedName('A/a')).toEqual([`prefix part ${SUBDOMAIN_MESSAGE}`]);
    expect(validation.isQualifiedName('a'.repeat(64))).toEqual([
      'name part must be no more than 63 bytes',
    ]);
    expect(validation.isQualifiedName('a/b/c')).toEqual([
      `a valid label key ${NAME_MESSAGE} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ]);
    expect(validation.isValidLabelValue('a'.repeat(64))).toEqual(['must be no more than 63 bytes']);
    expect(validation.isValidPortNum(0)).toEqual(['must be between 1 and 65535, inclusive']);
    expect(validation.isValidPortNum(65535)).toEqual([]);
    expect(validation.isValidUserID(2 ** 31)).toEqual([
      'must be between 0 and 2147483647, inclusive',
    ]);
    expect(validation.isValidGroupID(-1)).toEqual(['must be between 0 and 2147483647, inclusive']);
    expect(validation.isConfigMapKey('..a')).toEqual(["must not start with '..'"]);
    expect(validation.isRelaxedEnvVarName('')).toEqual([
      'environment variable name must be non-empty',
    ]);
    expect(validation.regexError('bad', '[a]')).toBe("bad (regex used for validation is '[a]')");
  });
});

describe('validateLabels', () => {
  test('reports every invalid key and value, in the order of the keys', () => {
    const errors = validation.validateLabels(
      { z: 'ok', b: '-', '-': 'x' },
      field.path('metadata', 'labels'),
    );
    expect(errors.map((error) => [error.field, error.badValue])).toEqual([
      ['metadata.labels', '-'],
      ['metadata.labels', '-'],
    ]);
    expect(errors[0]?.detail).toContain('name part');
    expect(errors[1]?.detail).toContain('a valid label must be');
    expect(validation.validateLabels(undefined, field.path('x'))).toEqual([]);
  });
});

describe('validateDomainPrefixedPath', () => {
  const PREFIXED = 'must be a domain-prefixed path (such as "acme.io/foo")';
  test.each<[value: string, messages: string[]]>([
    ['acme.io/foo', []],
    ['acme.io/foo/bar~1', []],
    ['', ['x: Required value']],
    ['foo', [`x: Invalid value: "foo": ${PREFIXED}`]],
    ['/foo', [`x: Invalid value: "/foo": ${PREFIXED}`]],
    ['acme.io/', [`x: Invalid value: "acme.io/": ${PREFIXED}`]],
    [
      'acme.io/f#o',
      [
        `x: Invalid value: "f#o": Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')`,
      ],
    ],
  ])('%j', (value, messages) => {
    const errors = validation.validateDomainPrefixedPath(value, field.path('x'));
    expect(errors.map((error) => error.message)).toEqual(messages);
  });

  test('names the invalid domain', () => {
    expect(validation.validateDomainPrefixedPath('Acme/foo', field.path('x'))[0]?.badValue).toBe(
      'Acme',
    );
  });
});
