// Kubernetes' libraries, tested with the examples of their documentation and with cases of
// upstream's tests.
import { describe, expect, test } from 'vitest';
import { toJson } from '../adapt.ts';
import { Environment } from '../environment.ts';
import { DYN } from '../types.ts';
import type { Value } from '../values.ts';
import {
  authorizerValue,
  AUTHORIZER,
  requestResourceValue,
  RESOURCE_CHECK,
  type AuthorizationCheck,
} from './authorizer.ts';
import { kubernetesLibraries, patchLibrary } from './index.ts';
import { misnamedObjects } from './patch.ts';

const environment = new Environment({
  libraries: [...kubernetesLibraries, patchLibrary],
  variables: { authorizer: AUTHORIZER, 'authorizer.requestResource': RESOURCE_CHECK, object: DYN },
});

/** Returns the value, or the error's message. */
function evaluate(source: string, activation = {}): Value {
  const { program, error } = environment.compile(source);
  if (program === undefined) return error.message;
  const result = program.evaluate(activation, { costLimit: 10_000_000 });
  return result.error === undefined ? result.value : `error: ${result.error.message}`;
}

const TRUE = [
  // Quantities.
  "isQuantity('1.3G') && isQuantity('1.3Gi') && isQuantity('10000k') && !isQuantity('1,3G') && !isQuantity('200K')",
  "!isQuantity('Three') && !isQuantity('') && !isQuantity('1 Mi')",
  "quantity('50000000G').isInteger() && quantity('50k').isInteger() && quantity('50k').asInteger() == 50000",
  "!quantity('9999999999999999999999999999999999999G').isInteger() && !quantity('1500m').isInteger()",
  "quantity('50k').sub(20000).asApproximateFloat() == 30000.0",
  "quantity('50k').add(quantity('20k')) == quantity('70k') && quantity('50k').add(20) == quantity('50020')",
  "quantity('50k').sub(quantity('20k')) == quantity('30k') && quantity('50k').sub(20000) == quantity('30k')",
  "quantity('50k').add(20).sub(quantity('100k')).sub(-50000) == quantity('20')",
  "quantity('200M').compareTo(quantity('0.2G')) == 0 && quantity('50M').compareTo(quantity('50Mi')) == -1",
  "quantity('150Mi').isGreaterThan(quantity('100Mi')) && quantity('50M').isLessThan(quantity('100M'))",
  "sign(quantity('-1')) == -1 && sign(quantity('0')) == 0 && type(quantity('1')) == kubernetes.Quantity",
  // Semantic versions.
  "isSemver('1.0.0') && isSemver('0.1.0-alpha.1') && !isSemver('hello') && !isSemver('v1.0') && !isSemver('1.0.0-01')",
  "isSemver('v1.0', true) && isSemver('1.0', true) && isSemver('01.01.01', true) && !isSemver('1.0-alpha', true)",
  "semver('v01.02', true) == semver('1.2.0') && semver('1.2.3').major() == 1 && semver('1.2.3').minor() == 2",
  "semver('1.2.3').patch() == 3 && semver('1.2.3').compareTo(semver('2.0.0')) == -1",
  "semver('1.0.0-alpha').isLessThan(semver('1.0.0')) && semver('1.0.0-alpha.1').isGreaterThan(semver('1.0.0-alpha'))",
  "semver('1.0.0-1').isLessThan(semver('1.0.0-a')) && semver('1.0.0-2').isLessThan(semver('1.0.0-10'))",
  "semver('1.0.0+a') == semver('1.0.0+b')",
  // Lists.
  '[1, 2, 3].isSorted() && !["b", "a"].isSorted() && [1, 1].isSorted() && [1.5, 2.5].sum() == 4.0',
  '[1, 3].sum() == 4 && [1, 3].max() == 3 && [1, 3].min() == 1 && [duration("1s"), ' +
    'duration("2s")].sum() == duration("3s")',
  '[1, 2, 2, 3].indexOf(2) == 1 && [1, 2, 2, 3].lastIndexOf(2) == 2 && [1].indexOf(4) == -1',
  "'abcb'.indexOf('b') == 1 && 'abcb'.lastIndexOf('b') == 3",
  // Regular expressions.
  "'abc 123'.find('[0-9]+') == '123' && 'abc'.find('[0-9]+') == ''",
  "'123 abc 456'.findAll('[0-9]+') == ['123', '456'] && '123 abc 456'.findAll('[0-9]+', 1) == ['123']",
  "'123 abc 456'.findAll('[0-9]+', -1) == ['123', '456'] && 'a'.findAll('b') == []",
  "'aaab'.findAll('a*') == ['aaa', ''] && 'baaa'.findAll('a*') == ['', 'aaa'] && 'abc'.findAll('').size() == 4",
  // Sets.
  'sets.contains([1, 2, 3], [1, 3]) && sets.intersects([1], [1, 2]) && sets.equivalent([1, 1, 2], [2, 1])',
  // URLs.
  "url('https://user:pass@example.com:80/path?query=val#fragment').getHost() == 'example.com:80'",
  "url('https://example.com:80/').getHostname() == 'example.com' && url('https://[::1]:80/').getHostname() == '::1'",
  "url('https://example.com:80/').getPort() == '80' && " +
    "url('https://example.com/').getPort() == '' && url('/path').getPort() == ''",
  "url('https://example.com/').getScheme() == 'https' && url('/path').getScheme() == ''",
  "url('https://example.com/path with spaces/').getEscapedPath() == '/path%20with%20spaces/'",
  "url('https://example.com').getEscapedPath() == '' && url('https://example.com/a%2Fb').getEscapedPath() == '/a%2Fb'",
  "url('https://example.com/path?k1=a&k2=b&k2=c').getQuery() == {'k1': ['a'], 'k2': ['b', 'c']}",
  "url('https://example.com/path?key with spaces=value with spaces').getQuery() == {'key " +
    "with spaces': ['value with spaces']}",
  "url('https://example.com/path?').getQuery() == {} && isURL('https://a:80/') && " +
    "isURL('/absolute') && !isURL('../relative')",
  "!isURL('https://a:b:c/') && !isURL('https://a:port/') && !isURL('') && isURL('mailto:someone')",
  // Addresses.
  "isIP('127.0.0.1') && isIP('::1') && !isIP('127.0.0.256') && !isIP(':::1') && " +
    "!isIP('010.0.0.1') && !isIP('fe80::1%en0')",
  "!isIP('::ffff:1.2.3.4') && ip('::1').family() == 6 && ip('127.0.0.1').family() == 4 && type(ip('::1')) == net.IP",
  "ip.isCanonical('127.0.0.1') && ip.isCanonical('2001:db8::abcd') && !ip.isCanonical('2001:DB8::ABCD')",
  "!ip.isCanonical('2001:db8::0:0:0:abcd') && ip('2001:db8::abcd') == ip('2001:DB8:0:0::ABCD')",
  "string(ip('2001:db8:0:0:1:0:0:0')) == '2001:db8:0:0:1::' && string(ip('::')) == '::'",
  "ip('127.0.0.1').isLoopback() && ip('0.0.0.0').isUnspecified() && ip('224.0.0.1').isLinkLocalMulticast()",
  "ip('ff02::1').isLinkLocalMulticast() && !ip('fd00::1').isLinkLocalMulticast() && " +
    "ip('169.254.1.1').isLinkLocalUnicast()",
  "ip('192.168.0.1').isGlobalUnicast() && !ip('255.255.255.255').isGlobalUnicast() && !ip('::1').isGlobalUnicast()",
  "cidr('192.168.0.0/24').containsIP(ip('192.168.0.1')) && !cidr('192.168.0.0/24').containsIP('192.168.1.1')",
  "cidr('192.168.0.0/16').containsCIDR(cidr('192.168.10.0/24')) && " +
    "!cidr('192.168.1.0/24').containsCIDR('192.168.2.0/24')",
  "!cidr('192.168.0.0/24').containsCIDR('192.168.0.0/23') && !cidr('::/0').containsIP('1.2.3.4')",
  "cidr('192.168.0.1/24').ip() == ip('192.168.0.1') && cidr('192.168.0.1/24').masked() == cidr('192.168.0.0/24')",
  "cidr('::1/128').prefixLength() == 128 && string(cidr('10.0.0.0/8')) == '10.0.0.0/8' && " +
    "!isCIDR('10.0.0.0/33') && isCIDR('::/0')",
  // Formats.
  "!format.dns1123Label().validate('my-label-name').hasValue() && format.dns1123Label().validate('Bad_').hasValue()",
  "format.dns1123Label().validate('a.b') == optional.of(['must not contain dots'])",
  "!format.dns1035LabelPrefix().validate('my-label-').hasValue() && format.named('nosuch') == optional.none()",
  "format.named('dns1123Label').value() == format.dns1123Label() && " +
    "format.uuid().validate('x').value() == ['does not match the UUID format']",
  "!format.uuid().validate('123e4567-e89b-12d3-a456-426614174000').hasValue() && " +
    "!format.byte().validate('aGVsbG8=').hasValue()",
  "format.byte().validate('a').value() == ['invalid base64'] && " +
    "format.date().validate('2021-02-30').value() == ['invalid date']",
  "!format.date().validate('2021-01-01').hasValue() && !format.datetime().validate('2021-01-01T00:00:00Z').hasValue()",
  "!format.uri().validate('http://example.com').hasValue() && format.labelValue().validate('a b').hasValue()",
  // Patches.
  "jsonpatch.escapeKey('k8s.io/my~label') == 'k8s.io~1my~0label'",
  // The language itself.
  "'abc'.matches('^a.c$') && 'x'.lowerAscii() == 'x' && {'a': 1}.all(k, v, k == 'a' && v == 1)",
  "object.?spec.?replicas.orValue(1) == 3 && object.spec[?'nothing'].orValue('none') == 'none'",
  '1 < 1.5 && 2u > 1 && [1, 2].exists(x, x > 1.5)',
];

test.each(TRUE)('%s', (source) => {
  expect(evaluate(source, { object: { spec: { replicas: 3 } } })).toBe(true);
});

const FAIL: readonly [string, string][] = [
  ["quantity('200K')", "unable to parse quantity's suffix"],
  [
    "quantity('1,3G')",
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
  ],
  ["quantity('1.5').asInteger()", 'cannot convert value to integer'],
  ["semver('200K')", 'No Major.Minor.Patch elements found'],
  [
    "url('../relative')",
    'URL parse error during conversion from string: parse "../relative": invalid URI for request',
  ],
  [
    "url('https://a:x/')",
    'URL parse error during conversion from string: parse "https://a:x/": invalid port ":x" after host',
  ],
  [
    "ip('127.0.0.256')",
    'IP Address "127.0.0.256" parse error during conversion from string: ParseAddr("127.0.0.256"): unable to parse IP',
  ],
  ["ip('::ffff:1.2.3.4')", 'IPv4-mapped IPv6 address "::ffff:1.2.3.4" is not allowed'],
  ['dyn([]).min()', 'min called on empty list'],
  ["'a'.matches(dyn('('))", 'error parsing regexp: missing closing ): `(`'],
  ['{}.a', 'no such key: a'],
  ['[1][1]', 'index out of bounds: 1'],
  ['1 / 0', 'division by zero'],
  ['9223372036854775807 + 1', 'integer overflow'],
];

test.each(FAIL)('%s fails', (source, message) => {
  expect(evaluate(source)).toBe(`error: ${message}`);
});

describe('authorizer', () => {
  const asked: AuthorizationCheck[] = [];
  const authorizer = authorizerValue({
    authorize(check) {
      asked.push(check);
      if (check.verb === 'slow')
        return Promise.resolve({ allowed: true, reason: 'thought about it' });
      if (check.verb === 'broken') return { allowed: false, reason: '', error: 'out of order' };
      return { allowed: check.resource === 'pods', reason: 'because' };
    },
  });
  const activation = {
    authorizer,
    'authorizer.requestResource': requestResourceValue(authorizer, {
      group: 'apps',
      resource: 'deployments',
      namespace: 'a',
      name: 'web',
    }),
  };

  test('makes the check of the expression', () => {
    const check =
      "authorizer.group('').resource('pods').subresource('log').namespace('a').name('p')." +
      "labelSelector('x=y').check('get')";
    expect(
      evaluate(
        `${check}.allowed() && ${check}.reason() == 'because' && !${check}.errored()`,
        activation,
      ),
    ).toBe(true);
    // Equal checks are made once.
    expect(asked.splice(0)).toEqual([
      {
        verb: 'get',
        group: '',
        resource: 'pods',
        subresource: 'log',
        namespace: 'a',
        name: 'p',
        labelSelector: 'x=y',
      },
    ]);
    expect(
      evaluate(
        "authorizer.serviceAccount('a', 'b').path('/healthz').check('get').allowed()",
        activation,
      ),
    ).toBe(false);
    expect(asked.splice(0)).toEqual([
      { verb: 'get', path: '/healthz', serviceAccount: { namespace: 'a', name: 'b' } },
    ]);
    expect(evaluate("authorizer.requestResource.check('broken').error()", activation)).toBe(
      'out of order',
    );
    expect(asked.splice(0)).toEqual([
      { verb: 'broken', group: 'apps', resource: 'deployments', namespace: 'a', name: 'web' },
    ]);
    expect(
      evaluate("authorizer.serviceAccount('A', 'b').path('/').check('get').allowed()", activation),
    ).toBe('error: Invalid service account namespace');
  });

  test('a decision may be asynchronous', async () => {
    const source =
      "authorizer.path('/a').check('slow').reason() + authorizer.path('/b').check('slow').reason()";
    const { program } = environment.compile(source);
    expect(await program?.evaluateAsync(activation)).toMatchObject({
      value: 'thought about itthought about it',
    });
    expect(asked.splice(0)).toHaveLength(2);
  });

  test('is so expensive that an expression may make two checks', () => {
    const { program } = environment.compile(
      "authorizer.path('/c').check('get').allowed() || authorizer.path('/d').check('get').allowed()",
    );
    expect(program?.evaluate(activation)).toMatchObject({ value: false, cost: 700_000 + 2 * 3 });
  });
});

describe('patches', () => {
  test('an object is created from named parts', () => {
    const made = evaluate(
      'Object{spec: Object.spec{replicas: 3, ?paused: optional.none(), ' +
        'template: Object.spec.template{labels: {"a": "b"}}}}',
    );
    expect(toJson(made)).toEqual({ spec: { replicas: 3, template: { labels: { a: 'b' } } } });
    expect(misnamedObjects(made)).toEqual([]);
    expect(misnamedObjects(evaluate('Object{spec: Object.status{}}'))).toEqual([
      'unexpected type name "Object.status", expected "Object.spec", ' +
        'which matches field name path from root Object type',
    ]);
  });

  test('a JSON patch is a list of operations', () => {
    const made = evaluate(
      '[JSONPatch{op: "add", path: "/metadata/labels/" + jsonpatch.escapeKey("a/b"), value: {"c": 1.5}}]',
    );
    expect(toJson(made)).toEqual([{ op: 'add', path: '/metadata/labels/a~1b', value: { c: 1.5 } }]);
    expect(evaluate('JSONPatch{op: 1}')).toContain(
      "expected type of field 'op' is 'string' but provided type is 'int'",
    );
    expect(evaluate('JSONPatch{nothing: 1}')).toContain("undefined field 'nothing'");
  });
});
