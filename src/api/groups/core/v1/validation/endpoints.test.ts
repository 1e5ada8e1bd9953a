// The paths and types of errors in endpoints.

import { describe, expect, test } from 'vitest';

import { manifest, messages } from '#api/testing/manifest.ts';
import type * as core from '../types.ts';
import { validateEndpoints, validateEndpointsUpdate } from './endpoints.ts';

const endpoints = (subsets: string): core.Endpoints =>
  manifest('core/v1.Endpoints', `metadata: {name: e}\nsubsets: [${subsets}]`);

const A = 'name: a, port: 8675';
const subset = (address: string, ...ports: string[]): string =>
  `{addresses: [{${address}}], ports: [${ports.map((port) => `{${port}}`).join(', ')}]}`;
const AT = 'subsets[0]';
const IP = `${AT}.addresses[0].ip Invalid`;

test.each<[what: string, subsets: string, ...errors: string[]]>([
  ['none', ''],
  ['one', subset('ip: 10.10.1.1', A)],
  [
    'more',
    `${subset('ip: 10.10.1.1', A, 'name: b, port: 309')}, ` +
      subset('ip: 10.10.3.3', 'name: a, port: 93', 'name: b, port: 76'),
  ],
  ['a port without a name', subset('ip: 10.10.1.1', 'port: 8675')],
  ['a port of a known protocol', subset('ip: 10.10.1.1', 'port: 8675, appProtocol: HTTP')],
  ['no ports', subset('ip: 10.10.3.3')],
  ['not ready', '{notReadyAddresses: [{ip: 10.10.3.3}]}'],
  ['no addresses', `{ports: [{${A}}]}`, `${AT} Required`],
  ['an address in brackets', subset('ip: "[2001:0db8:85a3:0042:1000:8a2e:0370:7334]"', A), IP, IP],
  ['zeros in front', subset('ip: 001.002.003.004', A), IP],
  [
    'zeros in front of one that is not ready',
    '{notReadyAddresses: [{ip: 001.002.003.004}]}',
    `${AT}.notReadyAddresses[0].ip Invalid`,
  ],
  ['the fourth version within the sixth', subset('ip: "::ffff:1.2.3.4"', A), IP],
  ['no address', subset('hostname: a', A), IP, IP],
  [
    'one of two ports without a name',
    subset('ip: 10.10.1.1', 'port: 8675', 'name: b, port: 309'),
    `${AT}.ports[0].name Required`,
  ],
  ['a bad name', subset('ip: 10.10.1.1', 'name: A_b, port: 1'), `${AT}.ports[0].name Invalid`],
  [
    'a port too high',
    subset('ip: 10.10.1.1', 'name: a, port: 66000'),
    `${AT}.ports[0].port Invalid`,
  ],
  ['no port', subset('ip: 10.10.1.1', 'name: a, port: 0'), `${AT}.ports[0].port Invalid`],
  [
    'another protocol',
    subset('ip: 10.10.1.1', 'name: a, port: 93, protocol: Protocol'),
    `${AT}.ports[0].protocol NotSupported`,
  ],
  [
    'what no protocol is called',
    subset('ip: 10.10.1.1', `${A}, appProtocol: "lots-of[invalid]-{chars}"`),
    `${AT}.ports[0].appProtocol Invalid`,
  ],
  ['a name of the host', subset('ip: 10.10.1.1, hostname: zookeeper1', A)],
  [
    'a bad name of the host',
    subset('ip: 10.10.1.1, hostname: a.b', A),
    `${AT}.addresses[0].hostname Invalid`,
  ],
  ['a node', subset('ip: 8.8.8.8, nodeName: kubernetes-node', A)],
  ['a node that is called as an address', subset('ip: 8.8.8.8, nodeName: 10.10.1.1', A)],
  [
    'a bad name of a node',
    subset('ip: 8.8.8.8, nodeName: "illegal*.nodename"', A),
    `${AT}.addresses[0].nodeName Invalid`,
  ],
])('%s', (_what, subsets, ...errors) => {
  const found = validateEndpoints(endpoints(subsets));
  expect(found.map(({ field, type }) => `${field} ${type.replace('FieldValue', '')}`)).toEqual(
    errors,
  );
});

test('a missing protocol', () => {
  const given = endpoints(subset('ip: 10.10.1.1', A));
  delete given.subsets?.[0]?.ports?.[0]?.protocol;
  expect(messages(validateEndpoints(given))).toEqual([`${AT}.ports[0].protocol: Required value`]);
});

describe('addresses', () => {
  test.each([
    '10.1.2.3',
    '244.1.2.3',
    '2000::1',
    '239.255.255.253',
    'ff05::1:3',
    '128.0.0.1',
    'fec0::1',
    '::2',
  ])('%s', (ip) => {
    expect(messages(validateEndpoints(endpoints(subset(`ip: "${ip}"`, A))))).toEqual([]);
  });

  const LOOPBACK = 'may not be in the loopback range (127.0.0.0/8, ::1/128)';
  const LINK = 'may not be in the link-local range (169.254.0.0/16, fe80::/10)';
  const MULTICAST = 'may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)';
  test.each<[ip: string, message: string]>([
    ['0.0.0.0', 'may not be unspecified (0.0.0.0)'],
    ['::', 'may not be unspecified (::)'],
    ['127.0.0.0', LOOPBACK],
    ['127.0.0.1', LOOPBACK],
    ['127.255.255.255', LOOPBACK],
    ['::1', LOOPBACK],
    ['169.254.169.254', LINK],
    ['fe80::', LINK],
    ['febf::1', LINK],
    ['224.0.0.1', MULTICAST],
    ['224.0.0.251', MULTICAST],
    ['ff02::', MULTICAST],
  ])('%s is a special address', (ip, message) => {
    expect(messages(validateEndpoints(endpoints(subset(`ip: "${ip}"`, A))))).toEqual([
      `${AT}.addresses[0].ip: Invalid value: "${ip}": ${message}`,
    ]);
  });
});

describe('changes', () => {
  const protocol = (name: string): string => subset('ip: 10.1.2.3', `${A}, appProtocol: ${name}`);
  test.each<[what: string, old: string, now: string, ...errors: string[]]>([
    ['a protocol', subset('ip: 10.1.2.3', A), protocol('https')],
    [
      'a bad protocol',
      subset('ip: 10.1.2.3', A),
      protocol('~https'),
      `${AT}.ports[0].appProtocol Invalid`,
    ],
    ['another node', subset('ip: 8.8.8.8, nodeName: a', A), subset('ip: 8.8.8.8, nodeName: b', A)],
    ['nothing', subset('ip: 001.002.003.004', A), subset('ip: 001.002.003.004', A)],
    [
      'something else',
      subset('ip: 001.002.003.004', A),
      subset('ip: 001.002.003.004', 'name: b, port: 1'),
      IP,
    ],
  ])('%s', (_what, old, now, ...errors) => {
    const found = validateEndpointsUpdate(endpoints(now), endpoints(old));
    expect(found.map(({ field, type }) => `${field} ${type.replace('FieldValue', '')}`)).toEqual(
      errors,
    );
  });
});
