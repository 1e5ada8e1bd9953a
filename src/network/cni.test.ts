import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { bridgeName, bridgeNetwork, findCniPlugins, writeCniConfig } from './index.ts';

test('the configuration of a bridge network', () => {
  expect(
    bridgeNetwork({ podCidr: '10.244.3.0/24', bridge: 'cox0', dataDir: '/data', mtu: 1400 }),
  ).toEqual({
    cniVersion: '0.4.0',
    name: 'cox0',
    plugins: [
      {
        type: 'bridge',
        bridge: 'cox0',
        isGateway: true,
        ipMasq: true,
        forceAddress: true,
        hairpinMode: true,
        promiscMode: false,
        mtu: 1400,
        ipam: {
          type: 'host-local',
          dataDir: '/data/ipam',
          ranges: [[{ subnet: '10.244.3.0/24' }]],
          routes: [{ dst: '0.0.0.0/0' }],
        },
      },
      { type: 'portmap', capabilities: { portMappings: true } },
    ],
  });
});

test('two families, and no host ports without iptables', () => {
  const { plugins } = bridgeNetwork({
    podCidr: '10.0.0.0/24, fd00::/64',
    bridge: 'b',
    dataDir: '/d',
    hostPorts: false,
  });
  expect(plugins).toHaveLength(1);
  expect(plugins[0]).toMatchObject({
    ipam: {
      ranges: [[{ subnet: '10.0.0.0/24' }], [{ subnet: 'fd00::/64' }]],
      routes: [{ dst: '0.0.0.0/0' }, { dst: '::/0' }],
    },
  });
});

test('the bridge’s name fits, is stable for a directory and differs between directories', () => {
  const name = bridgeName('/var/lib/one');
  expect(name).toMatch(/^cox[0-9a-f]+$/);
  expect(name.length).toBeLessThanOrEqual(15);
  expect(bridgeName('/var/lib/one')).toBe(name);
  expect(bridgeName('/var/lib/two')).not.toBe(name);
  expect(() =>
    bridgeNetwork({ podCidr: '10.0.0.0/24', bridge: 'much-too-long-a-name', dataDir: '/d' }),
  ).toThrow(RangeError);
});

test('the configuration is written atomically, and can be rewritten', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'cni-'));
  const config = bridgeNetwork({ podCidr: '10.0.0.0/24', bridge: 'b', dataDir: dir });
  await writeCniConfig(join(dir, 'net.d'), config);
  const path = await writeCniConfig(join(dir, 'net.d'), config);
  expect(JSON.parse(await readFile(path, 'utf8'))).toEqual(config);
  expect(await readdir(join(dir, 'net.d'))).toEqual(['10-coxswain.conflist']);
  await rm(dir, { recursive: true });
});

test('plugins are found only if all of them exist', () => {
  expect(findCniPlugins(['/no/such/dir'])).toBeUndefined();
});
