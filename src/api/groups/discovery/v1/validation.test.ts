// Errors of endpoint slices. Each row is a change to a valid object, and the resulting errors.

import { expect, test } from 'vitest';

import { messages } from '#api/testing/manifest.ts';
import { NAME_MESSAGES, range, rows, variation } from '#api/testing/variation.ts';
import type * as discovery from './types.ts';
import { validateEndpointSlice, validateEndpointSliceUpdate } from './validation.ts';

const slice = variation<discovery.EndpointSlice>('discovery/v1.EndpointSlice', {
  metadata: { name: 'hello', namespace: 'world' },
  addressType: 'IPv4',
  ports: [{ name: 'http', protocol: 'TCP', port: 80 }],
  endpoints: [{ addresses: ['10.1.2.3'], hostname: 'valid-123' }],
});
const check = (change: object): string[] => messages(validateEndpointSlice(slice(change)));
const endpoint = (change: object): object => ({
  endpoints: [{ addresses: ['10.1.2.3'], ...change }],
});
const of = (addressType: string, ...addresses: readonly string[]): object => ({
  addressType,
  endpoints: [{ addresses }],
});
const port = (change: object): object => ({ ports: [change] });
const zones = (...names: readonly string[]): object =>
  endpoint({ hints: { forZones: names.map((name) => ({ name })) } });
const nodes = (...names: readonly string[]): object =>
  endpoint({ hints: { forNodes: names.map((name) => ({ name })) } });
const AT = 'endpoints[0]';

test.each(
  rows<[change: object]>([
    [{}],
    [{ endpoints: [], ports: [] }],
    [of('IPv6', 'a00:100::4')],
    [of('FQDN', 'foo.example.com', 'example.com', 'hyphens-are-good.example.com')],
    [of('FQDN', 'example.com.')],
    [
      {
        ports: [
          { name: 'tcp', protocol: 'TCP' },
          { name: 'udp', protocol: 'UDP' },
          { name: 'sctp', protocol: 'SCTP' },
        ],
      },
    ],
    [port({ name: '', port: 8080 })],
    // Port numbers are not checked: 0 means all ports.
    [port({ port: 0 })],
    [port({ port: 66_000 })],
    [port({})],
    [port({ name: 'a'.repeat(63) })],
    [port({ name: 'http', appProtocol: 'HTTP' })],
    [port({ name: 'http', appProtocol: 'example.com/proto' })],
    [{ ports: range(20_000, (index) => ({ name: `p${index}` })) }],
    [{ endpoints: range(1000, (index) => ({ addresses: [`10.0.${index >> 8}.${index & 255}`] })) }],
    [endpoint({ addresses: range(100, (index) => `10.1.2.${index}`) })],
    [endpoint({ nodeName: 'valid-node.example' })],
    [endpoint({ conditions: { ready: true, serving: false, terminating: true } })],
    [endpoint({ targetRef: { kind: 'Pod', namespace: 'world', name: 'pod' } })],
    [
      endpoint({
        deprecatedTopology: Object.fromEntries(range(16, (index) => [`a${index}`, 'b'])),
      }),
    ],
    [zones(...range(8, (index) => `zone-${index}`))],
    [nodes(...range(8, (index) => `node-${index}`))],
  ]),
)('good: %s', (_, change) => {
  expect(check(change)).toEqual([]);
});

test.each(
  rows<[change: object, errors: readonly string[]]>([
    [{ addressType: '' }, ['addressType: Required value']],
    [
      { addressType: 'other' },
      ['addressType: Unsupported value: "other": supported values: "FQDN", "IPv4", "IPv6"'],
    ],
    [
      { addressType: 'IP' },
      ['addressType: Unsupported value: "IP": supported values: "FQDN", "IPv4", "IPv6"'],
    ],
    [{ ports: [{ name: 'http' }, { name: 'http' }] }, ['ports[1].name: Duplicate value: "http"']],
    [{ ports: [{}, {}] }, ['ports[1].name: Duplicate value: ""']],
    [
      port({ name: 'aCapital' }),
      [`ports[0].name: Invalid value: "aCapital": ${NAME_MESSAGES.label}`],
    ],
    [
      port({ name: 'almost_valid' }),
      [`ports[0].name: Invalid value: "almost_valid": ${NAME_MESSAGES.label}`],
    ],
    [
      port({ name: 'a'.repeat(64) }),
      [`ports[0].name: Invalid value: "${'a'.repeat(64)}": must be no more than 63 characters`],
    ],
    [
      port({ protocol: 'foo' }),
      ['ports[0].protocol: Unsupported value: "foo": supported values: "SCTP", "TCP", "UDP"'],
    ],
    [
      port({ appProtocol: '--' }),
      [`ports[0].appProtocol: Invalid value: "--": ${NAME_MESSAGES.namePart}`],
    ],
    [
      { ports: range(20_001, (index) => ({ name: `p${index}` })) },
      ['ports: Too many: 20001: must have at most 20000 items'],
    ],
    [
      { endpoints: range(1001, () => ({ addresses: ['10.0.0.1'] })) },
      ['endpoints: Too many: 1001: must have at most 1000 items'],
    ],
    [
      endpoint({ addresses: [] }),
      [`${AT}.addresses: Required value: must contain at least 1 address`],
    ],
    [
      endpoint({ addresses: range(101, (index) => `10.1.2.${index}`) }),
      [`${AT}.addresses: Too many: 101: must have at most 100 items`],
    ],
    [
      of('IPv6', '10.1.2.3'),
      [`${AT}.addresses: Invalid value: "10.1.2.3": must be an IPv6 address`],
    ],
    [
      of('IPv4', '2001:db8::1'),
      [`${AT}.addresses: Invalid value: "2001:db8::1": must be an IPv4 address`],
    ],
    [
      of('IPv6', '2001:DB8::1'),
      [
        `${AT}.addresses[0]: Invalid value: "2001:DB8::1": must be in canonical form ("2001:db8::1")`,
      ],
    ],
    [
      of('IPv4', 'a.b', '01.2.3.4', '::ffff:1.2.3.4'),
      [
        `${AT}.addresses[0]: Invalid value: "a.b": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)`,
        `${AT}.addresses[1]: Invalid value: "01.2.3.4": must not have leading 0s`,
        `${AT}.addresses[2]: Invalid value: "::ffff:1.2.3.4": must not be an IPv4-mapped IPv6 address`,
      ],
    ],
    [
      of('IPv4', '127.0.0.1'),
      [
        `${AT}.addresses[0]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)`,
      ],
    ],
    [
      of('IPv4', '169.254.1.1', '224.0.0.1', '0.0.0.0'),
      [
        `${AT}.addresses[0]: Invalid value: "169.254.1.1": may not be in the link-local ` +
          'range (169.254.0.0/16, fe80::/10)',
        `${AT}.addresses[1]: Invalid value: "224.0.0.1": may not be in the link-local ` +
          'multicast range (224.0.0.0/24, ff02::/10)',
        `${AT}.addresses[2]: Invalid value: "0.0.0.0": may not be unspecified (0.0.0.0)`,
      ],
    ],
    [
      of('IPv6', 'fe80::9656:d028:8652:66b6'),
      [
        `${AT}.addresses[0]: Invalid value: "fe80::9656:d028:8652:66b6": may not be in the ` +
          'link-local range (169.254.0.0/16, fe80::/10)',
      ],
    ],
    [of('FQDN', ''), [`${AT}.addresses[0]: Required value`]],
    [
      of('FQDN', 'foo'),
      [
        `${AT}.addresses[0]: Invalid value: "foo": should be a domain with at least two segments separated by dots`,
      ],
    ],
    [
      of('FQDN', '123.456.789_012', 'A.example.com', 'foo.*'),
      ['123.456.789_012', 'A.example.com', 'foo.*'].map(
        (name, index) =>
          `${AT}.addresses[${index}]: Invalid value: "${name}": ${NAME_MESSAGES.subdomain}`,
      ),
    ],
    [
      of('FQDN', `${'a'.repeat(64)}.com`),
      [
        `${AT}.addresses[0]: Invalid value: "${'a'.repeat(64)}": must be no more than 63 characters`,
      ],
    ],
    [
      endpoint({ nodeName: 'INvalid-node-name' }),
      [`${AT}.nodeName: Invalid value: "INvalid-node-name": ${NAME_MESSAGES.subdomain}`],
    ],
    [
      endpoint({ hostname: '--INvalid' }),
      [`${AT}.hostname: Invalid value: "--INvalid": ${NAME_MESSAGES.label}`],
    ],
    [
      endpoint({ hostname: 'a.b' }),
      [`${AT}.hostname: Invalid value: "a.b": must not contain dots`],
    ],
    [
      endpoint({ deprecatedTopology: { '--INvalid': 'example' } }),
      [`${AT}.deprecatedTopology: Invalid value: "--INvalid": ${NAME_MESSAGES.namePart}`],
    ],
    [
      endpoint({ deprecatedTopology: { example: '--INvalid' } }),
      [`${AT}.deprecatedTopology: Invalid value: "--INvalid": ${NAME_MESSAGES.labelValue}`],
    ],
    [
      endpoint({
        deprecatedTopology: Object.fromEntries(range(17, (index) => [`a${index}`, 'b'])),
      }),
      [`${AT}.deprecatedTopology: Too many: 17: must have at most 16 items`],
    ],
    [zones('a', 'b', 'a'), [`${AT}.hints.forZones[2].name: Duplicate value: "a"`]],
    [
      zones('inv&lid'),
      [`${AT}.hints.forZones[0].name: Invalid value: "inv&lid": ${NAME_MESSAGES.labelValue}`],
    ],
    [
      zones(...range(9, (index) => `zone-${index}`)),
      [`${AT}.hints.forZones: Too many: 9: must have at most 8 items`],
    ],
    [nodes('a', 'a'), [`${AT}.hints.forNodes[1].name: Duplicate value: "a"`]],
    [
      nodes('Node'),
      [`${AT}.hints.forNodes[0].name: Invalid value: "Node": ${NAME_MESSAGES.subdomain}`],
    ],
    [
      nodes(...range(9, (index) => `node-${index}`)),
      [`${AT}.hints.forNodes: Too many: 9: must have at most 8 items`],
    ],
    [
      { addressType: 'other', ports: [{ name: 'x!' }], endpoints: [{ addresses: [] }] },
      [
        'addressType: Unsupported value: "other": supported values: "FQDN", "IPv4", "IPv6"',
        `ports[0].name: Invalid value: "x!": ${NAME_MESSAGES.label}`,
        `${AT}.addresses: Required value: must contain at least 1 address`,
      ],
    ],
  ]),
)('bad: %s', (_, change, errors) => {
  expect(check(change)).toEqual(errors);
});

test('a protocol is required if there is no default', () => {
  const bare = { ...slice(), ports: [{ name: 'http', port: 80 }] };
  expect(messages(validateEndpointSlice(bare))).toEqual(['ports[0].protocol: Required value']);
});

test.each(
  rows<[now: object, fields: readonly string[]]>([
    [{}, []],
    [endpoint({ addresses: ['10.1.2.4'] }), []],
    [{ ports: [] }, []],
    [of('IPv6', 'a00:100::4'), ['addressType']],
    [{ addressType: 'FQDN', endpoints: [] }, ['addressType']],
    [endpoint({ addresses: [] }), [`${AT}.addresses`]],
  ]),
)('update to %s', (_, now, fields) => {
  const errors = validateEndpointSliceUpdate(slice(now), slice());
  expect(errors.map(({ field }) => field)).toEqual(fields);
});
