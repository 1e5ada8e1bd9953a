import { expect, test } from 'vitest';
import * as field from '#machinery/validation/field.ts';
import { warningsForCIDR, warningsForIP } from './ip-warnings.ts';

const at = field.path('spec', 'it');
const IN_FUTURE = 'is invalid: use';

test.each([
  ['10.0.0.1', undefined],
  ['fd00::1', undefined],
  ['FD00::1', 'IPv6 address "FD00::1" should be in RFC 5952 canonical format ("fd00::1")'],
  ['fd00:0:0::1', 'IPv6 address "fd00:0:0::1" should be in RFC 5952 canonical format ("fd00::1")'],
  ['::ffff:10.0.0.1', `non-standard IP address "::ffff:10.0.0.1" ${IN_FUTURE} "10.0.0.1"`],
  ['010.000.0.01', `non-standard IP address "010.000.0.01" ${IN_FUTURE} "10.0.0.1"`],
  ['::ffff:10.0.0.01', `non-standard IP address "::ffff:10.0.0.01" ${IN_FUTURE} "10.0.0.1"`],
  ['no address', undefined],
])('the address %s', (value, expected) => {
  expect(warningsForIP(at, value)).toEqual(expected === undefined ? [] : [`spec.it: ${expected}`]);
});

test.each([
  ['10.0.0.0/8', undefined],
  ['10.1.2.0/23', undefined],
  ['0.0.0.0/0', undefined],
  ['::/0', undefined],
  [
    '10.1.2.3/16',
    'CIDR value "10.1.2.3/16" is ambiguous in this context (should be "10.1.0.0/16" or "10.1.2.3/32"?)',
  ],
  ['fd00::/64', undefined],
  ['FD00::/64', 'IPv6 CIDR value "FD00::/64" should be in RFC 5952 canonical format ("fd00::/64")'],
  [
    'fd00::1/64',
    'CIDR value "fd00::1/64" is ambiguous in this context (should be "fd00::/64" or "fd00::1/128"?)',
  ],
  [
    '::ffff:10.0.0.0/104',
    `non-standard CIDR value "::ffff:10.0.0.0/104" ${IN_FUTURE} "10.0.0.0/8"`,
  ],
  ['010.0.0.0/8', `non-standard CIDR value "010.0.0.0/8" ${IN_FUTURE} "10.0.0.0/8"`],
  ['10.0.0.0/08', `non-standard CIDR value "10.0.0.0/08" ${IN_FUTURE} "10.0.0.0/8"`],
  ['no range', undefined],
  ['10.0.0.0/x', undefined],
  ['10.0.0.0', undefined],
])('the range %s', (value, expected) => {
  expect(warningsForCIDR(at, value)).toEqual(
    expected === undefined ? [] : [`spec.it: ${expected}`],
  );
});

test('a range may have two warnings', () => {
  expect(warningsForCIDR(at, '10.01.2.3/16')).toEqual([
    'spec.it: CIDR value "10.01.2.3/16" is ambiguous in this context (should be "10.1.0.0/16" or "10.1.2.3/32"?)',
    `spec.it: non-standard CIDR value "10.01.2.3/16" ${IN_FUTURE} "10.1.0.0/16"`,
  ]);
  expect(warningsForCIDR(at, '::ffff:10.1.2.3/112')).toEqual([
    'spec.it: CIDR value "::ffff:10.1.2.3/112" is ambiguous in this context (should be ' +
      '"10.1.0.0/16" or "10.1.2.3/128"?)',
    `spec.it: non-standard CIDR value "::ffff:10.1.2.3/112" ${IN_FUTURE} "10.1.0.0/16"`,
  ]);
});
