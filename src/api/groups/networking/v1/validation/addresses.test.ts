import { describe, expect, test } from 'vitest';

import type { FieldErrorList } from '#machinery/validation/field.ts';
import { NAME_MESSAGES, rows, variation } from '#api/testing/variation.ts';
import type * as networking from '../types.ts';
import {
  ipAddressName,
  validateIPAddress,
  validateIPAddressUpdate,
  validateServiceCIDR,
  validateServiceCIDRUpdate,
} from './index.ts';

const text = (errors: FieldErrorList): string[] => errors.map(String);

describe('addresses', () => {
  const address = variation<networking.IPAddress>('networking/v1.IPAddress', {
    metadata: { name: '192.168.1.1' },
    spec: {
      parentRef: { group: 'example.com', resource: 'gateways', name: 'front', namespace: 'web' },
    },
  });
  const parent = (change: object | null): networking.IPAddress =>
    address({ spec: { parentRef: change } });

  test.each<[name: string, problem?: string]>([
    ['192.168.1.1'],
    ['2001:4860:4860::8888'],
    ['::'],
    ['', 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'],
    ['front', 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'],
    ['fe80::1%eth0', 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'],
    ['192.168.1', 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'],
    ['010.8.8.8', 'must not have leading 0s'],
    ['::ffff:1.2.3.4', 'must not be an IPv4-mapped IPv6 address'],
    ['FD00::1', 'must be in canonical form ("fd00::1")'],
    ['2001:4860:4860:0::8888', 'must be in canonical form ("2001:4860:4860::8888")'],
    ['2001:4860:4860:0000:0000:0000:0000:0088', 'must be in canonical form ("2001:4860:4860::88")'],
  ])('the name %j', (name, problem) => {
    expect(ipAddressName(name)).toEqual(problem === undefined ? [] : [problem]);
  });

  test.each(
    rows<[change: object | null, errors: readonly string[]]>([
      [{}, []],
      [{ namespace: null }, []],
      [{ group: '' }, []],
      [null, ['spec.parentRef: Required value']],
      [{ name: '' }, ['spec.parentRef.name: Required value']],
      [{ resource: '' }, ['spec.parentRef.resource: Required value']],
      [
        { group: 'Example' },
        [`spec.parentRef.group: Invalid value: "Example": ${NAME_MESSAGES.subdomain}`],
      ],
      [
        { resource: '.', namespace: 'a/b', name: 'c%' },
        [
          `spec.parentRef.resource: Invalid value: ".": may not be '.'`,
          `spec.parentRef.name: Invalid value: "c%": may not contain '%'`,
          `spec.parentRef.namespace: Invalid value: "a/b": may not contain '/'`,
        ],
      ],
    ]),
  )('of %s', (_, change, errors) => {
    expect(text(validateIPAddress(parent(change)))).toEqual(errors);
  });

  test('have an immutable parent', () => {
    const labelled = address({ metadata: { labels: { a: 'b' } } });
    expect(text(validateIPAddressUpdate(labelled, address()))).toEqual([]);
    const value = '{"group":"example.com","resource":"gateways","namespace":"web","name":"back"}';
    for (const [now, shown] of [
      [{ name: 'back' }, value],
      [null, 'null'],
    ] as const) {
      const errors = text(validateIPAddressUpdate(parent(now), address()));
      expect(errors).toEqual([`spec.parentRef: Invalid value: ${shown}: field is immutable`]);
    }
  });
});

describe('ranges of services', () => {
  const of = variation<networking.ServiceCIDR>('networking/v1.ServiceCIDR', {
    metadata: { name: 'more' },
    spec: {},
  });
  const ranges = (...cidrs: string[]): networking.ServiceCIDR => of({ spec: { cidrs } });
  const bad = (index: number, value: string, why: string): string =>
    `spec.cidrs[${index}]: Invalid value: "${value}": ${why}`;
  const NONE = 'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)';
  const MORE = 'must not have bits set beyond the prefix length';
  const ZEROS = 'must not have leading 0s in IP or prefix length';
  const families = (...cidrs: string[]): string =>
    `spec.cidrs: Invalid value: ${JSON.stringify(cidrs)}: may specify no more than one IP ` +
    'for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64';

  test.each(
    rows<[cidrs: string[], ...errors: string[]]>([
      [[], 'spec.cidrs: Required value: at least one CIDR required'],
      [['192.168.0.0/24']],
      [['fd00:1234::/64']],
      [['192.168.0.0/24', 'fd00:1234::/64']],
      [['fd00:1234::/64', '192.168.0.0/24']],
      [['fd00:1234::/128']],
      [['0.0.0.0/0']],
      [['192.168.0.1/24'], bad(0, '192.168.0.1/24', MORE)],
      [['fd00:1234::2/64'], bad(0, 'fd00:1234::2/64', MORE)],
      [['FD00:1234::2/64'], bad(0, 'FD00:1234::2/64', MORE)],
      [
        ['FD00:1234::/64'],
        bad(0, 'FD00:1234::/64', 'must be in canonical form ("fd00:1234::/64")'),
      ],
      [['192.168.007.0/24'], bad(0, '192.168.007.0/24', ZEROS)],
      [['192.168.7.0/024'], bad(0, '192.168.7.0/024', ZEROS)],
      [
        ['::ffff:192.168.0.0/120'],
        bad(0, '::ffff:192.168.0.0/120', 'must not have an IPv4-mapped IPv6 address'),
      ],
      [['192.168.0.0'], bad(0, '192.168.0.0', NONE)],
      [['192.168.0.0/33'], bad(0, '192.168.0.0/33', NONE)],
      [['services'], bad(0, 'services', NONE)],
      [
        ['192.168.0.1/24', 'FD00::/64'],
        bad(0, '192.168.0.1/24', MORE),
        bad(1, 'FD00::/64', 'must be in canonical form ("fd00::/64")'),
      ],
      [['192.168.0.0/24', '192.168.1.0/24'], families('192.168.0.0/24', '192.168.1.0/24')],
      [['fd00::/64', 'fd01::/64'], families('fd00::/64', 'fd01::/64')],
      [['192.168.0.0/24', 'services'], bad(1, 'services', NONE)],
      [
        ['192.168.0.0/24', 'fd00::/64', '10.0.0.0/8'],
        'spec.cidrs: Invalid value: {"CIDRs":["192.168.0.0/24","fd00::/64","10.0.0.0/8"]}: ' +
          'may only hold up to 2 values',
      ],
    ]).map(([name, cidrs, ...errors]) => [name, cidrs, errors] as const),
  )('%s', (_, cidrs, errors) => {
    expect(text(validateServiceCIDR(ranges(...cidrs)))).toEqual(errors);
  });

  const fixed = (...cidrs: string[]): string =>
    `spec.cidrs: Invalid value: ${JSON.stringify(cidrs)}: field is immutable`;
  test.each(
    rows<[now: string[], old: string[], ...errors: string[]]>([
      [['10.0.0.0/24'], ['10.0.0.0/24']],
      [['10.0.0.0/24', 'fd00::/64'], ['10.0.0.0/24']],
      [['fd00::/64', '10.0.0.0/24'], ['fd00::/64']],
      [
        ['10.0.0.0/24'],
        ['10.0.1.0/24'],
        'spec.cidrs[0]: Invalid value: "10.0.0.0/24": field is immutable',
      ],
      [['10.0.0.0/24'], ['10.0.0.0/24', 'fd00::/64'], fixed('10.0.0.0/24')],
      [
        ['fd00::/64', '10.0.0.0/24'],
        ['10.0.0.0/24', 'fd00::/64'],
        'spec.cidrs[0]: Invalid value: "fd00::/64": field is immutable',
        'spec.cidrs[1]: Invalid value: "10.0.0.0/24": field is immutable',
      ],
      [[], ['10.0.0.0/24'], 'spec.cidrs: Invalid value: []: field is immutable'],
      [['10.0.1.0/24', 'fd00::/64'], ['10.0.0.0/24'], bad(0, '10.0.1.0/24', 'field is immutable')],
      [['10.0.0.0/24', '10.0.1.0/24'], ['10.0.0.0/24'], families('10.0.0.0/24', '10.0.1.0/24')],
      [['10.0.0.0/24', 'fd00::1/64'], ['10.0.0.0/24'], bad(1, 'fd00::1/64', MORE)],
    ]).map(([name, now, old, ...errors]) => [name, now, old, errors] as const),
  )('become %s', (_, now, old, errors) => {
    expect(text(validateServiceCIDRUpdate(ranges(...now), ranges(...old)))).toEqual(errors);
  });
});
