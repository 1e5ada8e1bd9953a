// Passes over a fake machine, one after the other.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { recordingLogger, type RecordingLogger } from '#machinery/log.ts';
import { NftError } from '#machinery/net/nft/index.ts';
import { CNI_CONFIG_FILE } from '../cni.ts';
import type { NodeRecord } from './model.ts';
import { podNetworkNames } from './names.ts';
import { NodeNetwork } from './node-network.ts';
import { FakeSystem, fakeLink } from './testing/fake-system.ts';

const names = podNetworkNames('/data');
const self: NodeRecord = {
  name: 'self',
  created: '2026',
  podCidrs: ['10.244.1.0/24'],
  addresses: ['10.0.0.1'],
};
const near: NodeRecord = {
  name: 'near',
  created: '2026',
  podCidrs: ['10.244.2.0/24'],
  addresses: ['10.0.0.2'],
};
const far: NodeRecord = {
  name: 'far',
  created: '2026',
  podCidrs: ['10.244.3.0/24'],
  addresses: ['172.16.0.3'],
};

let dir: string;
let system: FakeSystem;
let logger: RecordingLogger;
let configured: number;
let moved: number;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'cox-network-'));
  system = new FakeSystem();
  logger = recordingLogger();
  [configured, moved] = [0, 0];
});
afterEach(() => rmSync(dir, { recursive: true }));

const make = (): NodeNetwork =>
  new NodeNetwork({
    nodeName: 'self',
    settings: {
      mode: 'auto',
      names,
      vxlanId: 1,
      vxlanPort: 8472,
      clusterCidrs: ['10.244.0.0/16'],
      serviceCidrs: [],
    },
    cni: { confDir: dir, dataDir: '/data', hostPorts: false },
    system,
    logger,
    onConfigured: () => configured++,
    onAddressesChanged: () => moved++,
  });
function bridge(): { readonly mtu?: number; readonly ipMasq: boolean } | undefined {
  try {
    const { plugins } = JSON.parse(readFileSync(join(dir, CNI_CONFIG_FILE), 'utf8')) as {
      plugins: { mtu: number; ipMasq: boolean }[];
    };
    return plugins[0];
  } catch {
    return undefined;
  }
}
const problems = (): unknown[] => logger.records.flatMap(({ values }) => values['problem'] ?? []);

test('the runtime is configured when the node has a range, and only after a change', async () => {
  const network = make();
  expect(await network.sync([{ ...self, podCidrs: [] }])).toMatchObject({
    obstacle: 'the node has no usable range of pod addresses',
  });
  expect(bridge()).toBeUndefined();
  expect(await network.sync([self])).toEqual({
    obstacle: undefined,
    failed: false,
    hasPeers: false,
  });
  expect(bridge()).toMatchObject({ mtu: 1500, ipMasq: false });
  await network.sync([self, near]);
  expect(configured).toBe(1);
  expect(system.reads).toBe(1);
  expect(system.applied).toHaveLength(1);
  await network.sync([{ ...self, podCidrs: ['10.244.9.0/24'] }]);
  expect(configured).toBe(2);
});

test('on an unreadable machine: a single node has a network, one of several has none', async () => {
  const network = make();
  const missing = new Error('the program ip is not installed (package iproute2)');
  system.failures.read.push(missing, missing);
  expect(await network.sync([self])).toMatchObject({ obstacle: undefined, failed: true });
  expect(bridge()?.mtu).toBeUndefined();
  const { obstacle, failed } = await network.sync([self, near]);
  expect(failed).toBe(true);
  expect(obstacle).toContain('the program ip is not installed');
  expect(await network.sync([self, near])).toMatchObject({ obstacle: undefined, failed: false });
  expect(problems()).toHaveLength(2);
});

test('one route that fails is no obstacle, if all fail it is', async () => {
  const network = make();
  const other = { ...near, name: 'other', podCidrs: ['10.244.4.0/24'], addresses: ['10.0.0.4'] };
  const made = {
    family: 'IPv4',
    destination: '10.244.2.0/24',
    via: '10.0.0.2',
    link: 'eth0',
  } as const;
  system.failures.apply.push(new Error('ip failed: Nexthop has invalid gateway'));
  system.machine = {
    ...system.machine,
    own: { ...system.machine.own, routes: new Map([['10.244.2.0/24', made]]) },
  };
  expect(await network.sync([self, near, other])).toMatchObject({
    obstacle: undefined,
    failed: true,
  });
  system.machine = { ...system.machine, own: { ...system.machine.own, routes: new Map() } };
  system.failures.apply.push(new Error('ip failed: Operation not permitted'));
  const { obstacle } = await network.sync([self, near, other]);
  expect(obstacle).toBe('routes: ip failed: Operation not permitted');
});

test('without nftables the plugin masquerades, which is logged once', async () => {
  const network = make();
  system.nft.failures.push(new NftError('NotInstalled', 'the program nft is not installed'));
  await network.sync([self]);
  await network.sync([self, near]);
  expect(bridge()).toMatchObject({ ipMasq: true });
  expect(system.nft.runs).toEqual([]);
  expect(logger.records.filter(({ level }) => level === 'warn')).toHaveLength(1);
});

test('a table that another program has removed is written again', async () => {
  const network = make();
  await network.sync([self, near]);
  system.nft.listings.set(`ip ${names.table}`, '{}');
  network.markStale();
  await network.sync([self, near]);
  expect(system.nft.runs).toHaveLength(1);
  system.nft.listings.clear();
  network.markStale();
  await network.sync([self, near]);
  expect(system.nft.runs).toHaveLength(2);
});

test('with pods on the bridge, the MTU can decrease but not increase', async () => {
  const network = make();
  system.machine = {
    ...system.machine,
    links: [...system.machine.links, fakeLink('veth1', '10.244.1.9/32', { master: names.bridge })],
  };
  await network.sync([self]);
  expect(bridge()?.mtu).toBe(1500);
  await network.sync([self, far]);
  expect(bridge()?.mtu).toBe(1450);
  await network.sync([self]);
  expect(bridge()?.mtu).toBe(1450);
  const next = make();
  await next.sync([self]);
  expect(bridge()?.mtu).toBe(1450);
  system.machine = { ...system.machine, links: [fakeLink('eth0', '10.0.0.1/24')] };
  next.markStale();
  await next.sync([self]);
  expect(bridge()?.mtu).toBe(1500);
});

test('added and removed addresses of the machine are noticed', async () => {
  const network = make();
  await network.sync([self, near]);
  network.markStale();
  await network.sync([self, near]);
  expect(moved).toBe(0);
  const { length } = system.applied;
  system.machine = { ...system.machine, links: [fakeLink('eth0', '10.0.0.77/24')] };
  network.markStale();
  expect(await network.sync([self, near])).toMatchObject({
    obstacle: 'this machine has no address of its node',
  });
  expect(moved).toBe(1);
  // Routes to other nodes stay until the Node has the new address.
  expect(system.applied).toHaveLength(length);
});

test('a change during a read leads to another read', async () => {
  const network = make();
  const reading = network.sync([self, near]);
  network.markStale();
  await reading;
  await network.sync([self, near]);
  expect(system.reads).toBe(2);
});

test('preparing keeps existing state', async () => {
  await make().prepare(['10.244.1.0/24']);
  expect(bridge()).toMatchObject({ mtu: 1500, ipMasq: false });
  expect(system.nft.runs).toHaveLength(1);
  system.nft.listings.set(`ip ${names.table}`, '{}');
  await make().prepare(['10.244.1.0/24']);
  expect(system.nft.runs).toHaveLength(1);
  await make().prepare(['10.244.7.0/24']);
  expect(readFileSync(join(dir, CNI_CONFIG_FILE), 'utf8')).toContain('10.244.7.0/24');
});
