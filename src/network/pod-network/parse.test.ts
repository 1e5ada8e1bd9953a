// Output of iproute2 6.1, complete and with fields missing.

import { expect, test } from 'vitest';
import { parseMachine } from './parse.ts';

const names = { bridge: 'cox0123456789', vxlan: 'cxv0123456789', table: 't', metric: 16_777_300 };
const vxlan = {
  ifname: 'cxv0123456789',
  flags: ['BROADCAST', 'MULTICAST', 'UP', 'LOWER_UP'],
  mtu: 1450,
  link_type: 'ether',
  address: '0a:58:0a:f4:01:00',
  linkinfo: {
    info_kind: 'vxlan',
    info_data: { id: 1, local: '10.0.0.1', port: 8472, learning: false },
  },
  addr_info: [
    { family: 'inet', local: '10.244.1.0', prefixlen: 32, scope: 'global' },
    { family: 'inet6', local: 'fe80::1', prefixlen: 64, scope: 'link' },
  ],
};
const eth0 = {
  ifname: 'eth0',
  flags: ['BROADCAST', 'MULTICAST', 'UP', 'LOWER_UP'],
  mtu: 1500,
  link_type: 'ether',
  addr_info: [{ family: 'inet', local: '10.0.0.1', prefixlen: 24, scope: 'global' }],
};
const routes = [
  { dst: 'default', gateway: '10.0.0.254', dev: 'eth0', protocol: 'dhcp', metric: 100, flags: [] },
  { dst: '10.0.0.0/24', dev: 'eth0', protocol: 'kernel', scope: 'link', flags: [] },
  { dst: '10.244.1.0/24', dev: 'cox0123456789', protocol: 'kernel', scope: 'link', flags: [] },
  {
    dst: '10.244.2.0/24',
    gateway: '10.244.2.0',
    dev: 'cxv0123456789',
    protocol: '84',
    metric: 16_777_300,
    flags: ['onlink'],
  },
  { dst: '10.244.9.0/24', gateway: '10.0.0.9', dev: 'eth0', protocol: '84', metric: 5, flags: [] },
  { dst: '192.0.2.7', dev: 'eth0', scope: 'link', flags: [] },
  {
    dst: '192.0.2.0/24',
    protocol: 'static',
    nexthops: [
      { gateway: '10.0.0.7', dev: 'eth0' },
      { gateway: '10.0.0.8', dev: 'eth0' },
    ],
  },
  { type: 'blackhole', dst: '198.51.100.0/24', protocol: 'static', flags: [] },
];
const routes6 = [
  { dst: 'default', gateway: 'fe80::1', dev: 'eth0', protocol: 'ra', metric: 1024, pref: 'medium' },
];

function parse(
  devices: readonly object[],
  more: { forwarding?: readonly object[]; neighbours?: readonly object[] } = {},
) {
  const [forwarding, neighbours] = [more.forwarding, more.neighbours].map((list) =>
    list === undefined ? '' : JSON.stringify(list),
  );
  const listings = {
    addresses: JSON.stringify(devices),
    routes: [routes, routes6].map((list) => JSON.stringify(list)),
  };
  return parseMachine(
    { ...listings, forwarding: forwarding ?? '', neighbours: neighbours ?? '' },
    names,
  );
}

test('our own state', () => {
  const { own } = parse([eth0, vxlan], {
    forwarding: [
      { mac: '0a:58:0a:f4:02:00', dst: '10.0.0.3', flags: ['self'], state: 'permanent' },
    ],
    neighbours: [
      { dst: '10.244.2.0', lladdr: '0a:58:0a:f4:02:00', state: ['PERMANENT'] },
      { dst: '10.244.7.0', state: ['FAILED'] },
    ],
  });
  expect(own).toEqual({
    vxlan: {
      id: 1,
      port: 8472,
      local: '10.0.0.1',
      mac: '0a:58:0a:f4:01:00',
      mtu: 1450,
      addresses: ['10.244.1.0/32'],
    },
    routes: new Map([
      [
        '10.244.2.0/24',
        { family: 'IPv4', destination: '10.244.2.0/24', via: '10.244.2.0', link: 'cxv0123456789' },
      ],
    ]),
    forwarding: new Map([['0a:58:0a:f4:02:00', '10.0.0.3']]),
    neighbours: new Map([['10.244.2.0', '0a:58:0a:f4:02:00']]),
  });
});

test('links and routes of other programs', () => {
  const { links, foreignRoutes } = parse([
    { ...eth0, flags: ['UP', 'NO-CARRIER'], master: 'br0' },
    vxlan,
  ]);
  expect(links[0]).toMatchObject({
    name: 'eth0',
    isUp: false,
    isEthernet: true,
    isLoopback: false,
    master: 'br0',
  });
  expect(
    foreignRoutes.map(({ range, link, gateway, isConnected }) => [
      range.prefix,
      link,
      gateway?.family,
      isConnected,
    ]),
  ).toEqual([
    [0, 'eth0', 'IPv4', false],
    [24, 'eth0', undefined, true],
    [24, 'eth0', 'IPv4', false],
    [32, 'eth0', undefined, false],
    [24, 'eth0', 'IPv4', false],
    [0, 'eth0', 'IPv6', false],
  ]);
});

test('an incompatible device with our name must be replaced', () => {
  expect(parse([{ ...vxlan, linkinfo: { info_kind: 'bridge' } }]).own.vxlan?.id).toBe(-1);
  const learning = {
    info_kind: 'vxlan',
    info_data: { id: 1, local6: 'fd00:0::1', port: 8472, learning: true },
  };
  expect(parse([{ ...vxlan, linkinfo: learning }]).own.vxlan).toMatchObject({
    id: -1,
    local: 'fd00::1',
  });
  expect(parse([{ ...vxlan, flags: [] }]).own.vxlan?.addresses).toEqual([]);
});

test('missing fields count as absent', () => {
  expect(parse([{ ifname: 'x' }, {}]).links).toHaveLength(2);
  expect(
    parseMachine({ addresses: '', routes: [''], neighbours: '', forwarding: '' }, names).links,
  ).toEqual([]);
  expect(
    parseMachine({ addresses: '{}', routes: ['null'], neighbours: '[]', forwarding: '[1]' }, names)
      .links,
  ).toEqual([]);
  expect(() =>
    parseMachine({ addresses: '[', routes: [], neighbours: '', forwarding: '' }, names),
  ).toThrow(SyntaxError);
});
