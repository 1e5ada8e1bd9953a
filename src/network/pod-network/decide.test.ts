// Decisions from nodes and links, as values.

import { describe, expect, test } from 'vitest';
import { parseCidr, parseIp } from '#machinery/net/ip.ts';
import { decide, tunnelMac } from './decide.ts';
import { difference } from './difference.ts';
import {
  EMPTY_STATE,
  type ForeignRoute,
  type Link,
  type NodeRecord,
  type PodNetworkSettings,
} from './model.ts';

const names = {
  bridge: 'cox0123456789',
  vxlan: 'cxv0123456789',
  table: 'coxswain-pods-0123456789',
  metric: 20_000_000,
};
const settings: PodNetworkSettings = {
  mode: 'auto',
  names,
  vxlanId: 1,
  vxlanPort: 8472,
  clusterCidrs: ['10.244.0.0/16', 'fd00:10::/48'],
  serviceCidrs: ['10.96.0.0/16'],
};

function link(name: string, addresses: readonly string[], more: Partial<Link> = {}): Link {
  return {
    name,
    mtu: 1500,
    isUp: true,
    isEthernet: true,
    isLoopback: false,
    master: undefined,
    addresses: addresses.map((text) => {
      const [ip = ''] = text.split('/');
      return { ...parseIp(ip)!, range: parseCidr(text)! };
    }),
    ...more,
  };
}

const route = (range: string, onLink: string, gateway?: string): ForeignRoute => ({
  range: parseCidr(range)!,
  link: onLink,
  gateway: gateway === undefined ? undefined : parseIp(gateway),
  isConnected: gateway === undefined,
  metric: 0,
});

const machine = {
  links: [
    link('lo', ['127.0.0.1/8'], { mtu: 65_536, isLoopback: true, isEthernet: false }),
    link('eth0', ['10.0.0.1/24']),
  ],
  foreignRoutes: [route('10.0.0.0/24', 'eth0'), route('0.0.0.0/0', 'eth0', '10.0.0.254')],
};

const node = (
  name: string,
  address: string | readonly string[],
  cidr: string | readonly string[],
  created = '2026',
): NodeRecord => ({
  name,
  created,
  podCidrs: [cidr].flat(),
  addresses: [address].flat(),
});
const self = node('self', '10.0.0.1', '10.244.1.0/24');
const decideFor = (
  others: readonly NodeRecord[],
  given: Partial<PodNetworkSettings> = {},
  on: typeof machine = machine,
) => decide('self', [...others, self], on, { ...settings, ...given });

describe('the path to a node', () => {
  test('on a link by a route, otherwise by VXLAN', () => {
    const { state, mtu, problems } = decideFor([
      node('near', '10.0.0.2', '10.244.2.0/24'),
      node('far', '172.16.0.3', '10.244.3.0/24'),
    ]);
    expect(problems).toEqual([]);
    expect([...state.routes.values()]).toEqual([
      { family: 'IPv4', destination: '10.244.3.0/24', via: '10.244.3.0', link: names.vxlan },
      { family: 'IPv4', destination: '10.244.2.0/24', via: '10.0.0.2', link: 'eth0' },
    ]);
    expect([...state.forwarding]).toEqual([['0a:58:0a:f4:03:00', '172.16.0.3']]);
    expect([...state.neighbours]).toEqual([['10.244.3.0', '0a:58:0a:f4:03:00']]);
    expect(state.vxlan).toEqual({
      id: 1,
      port: 8472,
      local: '10.0.0.1',
      mac: '0a:58:0a:f4:01:00',
      mtu: 1450,
      addresses: ['10.244.1.0/32'],
    });
    expect(mtu).toBe(1450);
  });

  test('the mode decides', () => {
    const near = node('near', '10.0.0.2', '10.244.2.0/24');
    const far = node('far', '172.16.0.3', '10.244.3.0/24');
    expect([...decideFor([near], { mode: 'vxlan' }).state.routes.values()]).toMatchObject([
      { link: names.vxlan },
    ]);
    const routes = decideFor([near, far], { mode: 'routes' });
    expect([...routes.state.routes.keys()]).toEqual(['10.244.2.0/24']);
    expect(routes.state.vxlan).toBeUndefined();
    expect(routes.problems).toEqual([
      'node far: no route to 10.244.3.0/24, the node is not on a link of this machine (see --pod-network)',
    ]);
    // So that the packet size does not change when the first node joins.
    expect(decideFor([], { mode: 'vxlan' })).toMatchObject({
      mtu: 1450,
      state: { vxlan: { mtu: 1450 } },
    });
    expect(decideFor([])).toMatchObject({ mtu: 1500, state: { vxlan: undefined } });
  });

  test('a tunnel without hardware addresses is a link for VXLAN, but not for routes', () => {
    const wireguard = link('wg0', ['10.8.0.1/24'], { isEthernet: false, mtu: 1420 });
    const on = {
      links: [...machine.links, wireguard],
      foreignRoutes: [...machine.foreignRoutes, route('10.8.0.0/24', 'wg0')],
    };
    const { state, mtu } = decideFor([node('n', '10.8.0.2', '10.244.2.0/24')], {}, on);
    expect(state.vxlan?.mtu).toBe(1370);
    expect(state.routes.get('10.244.2.0/24')?.link).toBe(names.vxlan);
    expect(mtu).toBe(1370);
  });

  test('a link whose name is unsafe in a command is not used', () => {
    const odd = { ...machine, links: [link('et"h0', ['10.0.0.1/24'])] };
    expect(
      decideFor([node('n', '10.0.0.2', '10.244.2.0/24')], {}, odd).state.routes.get('10.244.2.0/24')
        ?.link,
    ).toBe(names.vxlan);
  });

  test('the smallest MTU of the links in use is the MTU of pods', () => {
    const jumbo = {
      ...machine,
      links: [link('eth0', ['10.0.0.1/24'], { mtu: 9000 }), link('eth1', ['10.1.0.1/24'])],
    };
    expect(decideFor([], {}, jumbo).mtu).toBe(9000);
    expect(decideFor([node('n', '10.1.0.2', '10.244.2.0/24')], {}, jumbo).mtu).toBe(1500);
  });

  test('over a link that is down there is no route, and no other path', () => {
    const down = { ...machine, links: [link('eth0', ['10.0.0.1/24'], { isUp: false })] };
    const { state, problems, mtu } = decideFor([node('n', '10.0.0.2', '10.244.2.0/24')], {}, down);
    expect(state.routes.size).toBe(0);
    expect(state.vxlan).toBeUndefined();
    expect(mtu).toBe(1500);
    expect(problems).toEqual(['node n: no route to 10.244.2.0/24, the link eth0 is down']);
  });

  test('two families in one tunnel, whose outer family both nodes have', () => {
    const own = node('self', ['fd00::1'], ['10.244.1.0/24', 'fd00:10:0:1::/64']);
    const on = {
      links: [link('eth0', ['10.0.0.1/24', 'fd00::1/64'])],
      foreignRoutes: [route('::/0', 'eth0', 'fd00::fe')],
    };
    const peer = node('far', ['172.16.0.2', 'fd01::2'], ['10.244.2.0/24', 'fd00:10:0:2::/64']);
    const { state, problems, mtu } = decide('self', [own, peer], on, settings);
    expect(problems).toEqual([]);
    expect(state.vxlan).toMatchObject({
      local: 'fd00::1',
      mtu: 1430,
      addresses: ['10.244.1.0/32', 'fd00:10:0:1::/128'],
    });
    expect([...state.forwarding.values()]).toEqual(['fd01::2']);
    expect([...state.neighbours.keys()]).toEqual(['10.244.2.0', 'fd00:10:0:2::']);
    expect(mtu).toBe(1430);
    expect(
      decide('self', [own, node('v4', '172.16.0.3', '10.244.3.0/24')], on, settings).problems,
    ).toEqual(['node v4: pods in 10.244.3.0/24 cannot be reached, the node has no IPv6 address']);
  });
});

describe('obstacles', () => {
  test('a node without ranges has nothing; a node whose address is not on this machine keeps its state', () => {
    const none = decide('self', [node('self', '10.0.0.1', [])], machine, settings);
    expect(none).toMatchObject({
      podCidrs: [],
      obstacle: 'the node has no usable range of pod addresses',
    });
    const peer = node('n', '10.0.0.2', '10.244.2.0/24');
    const moved = node('self', '10.0.0.99', '10.244.1.0/24');
    expect(decide('self', [moved, peer], machine, settings).obstacle).toBe(
      'this machine has no address of its node',
    );
    expect(decide('self', [moved], machine, settings).obstacle).toBeUndefined();
    expect(decide('self', [peer], machine, settings).obstacle).toBe('the node is not registered');
  });
});

describe('claims of nodes', () => {
  test.each([
    [
      'a range outside of the cluster',
      '192.168.7.0/24',
      "it is not part of the cluster's ranges of pods",
    ],
    ['the whole cluster', '10.244.0.0/16', 'it overlaps 10.244.1.0/24 of node self'],
    ['part of the range of this node', '10.244.1.128/25', 'it overlaps 10.244.1.0/24 of node self'],
    ['the range of an older node', '10.244.2.0/24', 'it overlaps 10.244.2.0/24 of node old'],
    ['a part of it', '10.244.2.64/26', 'it overlaps 10.244.2.0/24 of node old'],
    ['more than it', '10.244.2.0/23', 'it overlaps 10.244.2.0/24 of node old'],
    ['no range', '10.244.2.0', undefined],
    ['text', "10.0.0.0/24'; reboot", undefined],
  ])('%s', (_, cidr, problem) => {
    const others = [
      node('new', '10.0.0.3', cidr, '2027'),
      node('old', '10.0.0.2', '10.244.2.0/24', '2020'),
    ];
    const { state, problems } = decideFor(others);
    expect([...state.routes.keys()]).toEqual(['10.244.2.0/24']);
    expect(problems).toHaveLength(1);
    if (problem !== undefined)
      expect(problems[0]).toBe(`node new: range of pods ${cidr} is left out: ${problem}`);
  });

  test.each([
    ['loopback', '127.0.0.0/8'],
    ['multicast', '224.0.0.0/24'],
    ['everything', '0.0.0.0/0'],
    ['half of everything', '128.0.0.0/1'],
    ['the addresses of nodes', '10.0.0.0/24'],
    ['a gateway', '10.0.0.254/32'],
    ['more than this node has', '10.244.128.0/17'],
    ['services', '10.96.0.0/24'],
    ['a part of a link', '10.0.0.192/26'],
  ])('where the range of the cluster is not known: not %s', (_, cidr) => {
    const { state, problems } = decideFor([node('n', '10.0.0.2', cidr)], { clusterCidrs: [] });
    expect(state.routes.size).toBe(0);
    expect(problems).toHaveLength(1);
  });

  test('pods may use a part of a link’s range if the administrator allows it', () => {
    const wide = {
      links: [link('eth0', ['10.0.0.1/8'])],
      foreignRoutes: [route('10.0.0.0/8', 'eth0')],
    };
    expect(decideFor([node('n', '10.0.0.2', '10.244.2.0/24')], {}, wide).problems).toEqual([]);
    const { problems } = decideFor(
      [node('n', '10.0.0.2', '10.244.2.0/24')],
      { clusterCidrs: [] },
      wide,
    );
    expect(problems[0]).toContain('it overlaps the range of the link eth0');
  });

  test('addresses: none of another node, none that cannot belong to a node, no broadcast address', () => {
    const others = [
      node('a', '10.0.0.2', '10.244.2.0/24', '2020'),
      node('twin', '10.0.0.2', '10.244.3.0/24', '2021'),
      node('loop', '127.0.0.1', '10.244.4.0/24'),
      node('all', '10.0.0.255', '10.244.5.0/24'),
      node('us', '10.0.0.1', '10.244.6.0/24'),
    ];
    const { state, problems } = decideFor(others, { mode: 'routes' });
    expect([...state.routes.keys()]).toEqual(['10.244.2.0/24']);
    expect(problems).toEqual([
      'node twin: address 10.0.0.2 is left out: it is the address of node a',
      'node all: no route to 10.244.5.0/24, the node is not on a link of this machine (see --pod-network)',
    ]);
  });

  test('the tunnel address of a node is derived from its range, so it is unique', () => {
    const mac = (cidr: string): string =>
      tunnelMac({ ranges: [{ ...parseCidr(cidr)!, text: cidr }] });
    expect(mac('10.244.3.0/24')).toBe('0a:58:0a:f4:03:00');
    expect(mac('fd00:10:0:1::/64')).not.toBe(mac('fd00:10:0:2::/64'));
    expect(mac('fd00:10:0:1::/64')).toMatch(/^0a(:[0-9a-f]{2}){5}$/);
  });
});

describe('changes', () => {
  const near = node('near', '10.0.0.2', '10.244.2.0/24');
  const far = node('far', '172.16.0.3', '10.244.3.0/24');
  const changes = (before: readonly NodeRecord[], after: readonly NodeRecord[]): string[] =>
    difference(decideFor(before).state, decideFor(after).state, names).map(({ program, args }) =>
      [program, ...args].join(' '),
    );

  test('nothing changes without a change of the input', () => {
    expect(changes([near, far], [far, near])).toEqual([]);
    expect(difference(EMPTY_STATE, EMPTY_STATE, names)).toEqual([]);
  });

  test('one more node on the link is one command', () => {
    expect(changes([far], [far, near])).toEqual([
      'ip route replace 10.244.2.0/24 via 10.0.0.2 dev eth0 metric 20000000 proto 84',
    ]);
  });

  test('a node elsewhere needs a route, a neighbour and an entry, which are removed in the same order', () => {
    const other = node('other', '172.16.0.4', '10.244.4.0/24');
    expect(changes([far], [far, other])).toEqual([
      'ip neighbour replace 10.244.4.0 lladdr 0a:58:0a:f4:04:00 nud permanent dev cxv0123456789',
      'ip route replace 10.244.4.0/24 via 10.244.4.0 dev cxv0123456789 metric 20000000 proto 84 onlink',
      'bridge fdb replace 0a:58:0a:f4:04:00 dst 172.16.0.4 dev cxv0123456789 self permanent',
    ]);
    expect(changes([far, other], [far])).toEqual([
      'ip route del 10.244.4.0/24 via 10.244.4.0 dev cxv0123456789 metric 20000000 proto 84 onlink',
      'ip neighbour del 10.244.4.0 dev cxv0123456789',
      'bridge fdb del 0a:58:0a:f4:04:00 dst 172.16.0.4 dev cxv0123456789 self',
    ]);
    expect(changes([far], [node('far', '172.16.0.9', '10.244.3.0/24')])).toEqual([
      'bridge fdb replace 0a:58:0a:f4:03:00 dst 172.16.0.9 dev cxv0123456789 self permanent',
    ]);
  });

  test('a device that cannot be changed is replaced, with everything on it', () => {
    const { state } = decideFor([far]);
    const other = { ...state, vxlan: { ...state.vxlan!, local: '10.0.0.7' } };
    expect(difference(other, state, names).map(({ args }) => args.slice(0, 2).join(' '))).toEqual([
      'link del',
      'link add',
      'link set',
      'address replace',
      'link set',
      'neighbour replace',
      'route replace',
      'fdb replace',
    ]);
    const smaller = { ...state, vxlan: { ...state.vxlan!, mtu: 1400 } };
    expect(difference(smaller, state, names).map(({ args }) => args.join(' '))).toEqual([
      'link set cxv0123456789 mtu 1450',
    ]);
  });

  test('a node that moves to the link is reached there', () => {
    expect(changes([far], [node('far', '10.0.0.3', '10.244.3.0/24')])).toEqual([
      'ip route del 10.244.3.0/24 via 10.244.3.0 dev cxv0123456789 metric 20000000 proto 84 onlink',
      'ip link del cxv0123456789',
      'ip route replace 10.244.3.0/24 via 10.0.0.3 dev eth0 metric 20000000 proto 84',
    ]);
  });
});
