import { expect, test } from 'vitest';
import { RecordingLogger } from '#apiserver/testing/server.ts';
import { checkClusterDomain, prepareDns, type DnsRequest } from './prepare-dns.ts';

const request: DnsRequest = {
  wanted: undefined,
  clusterDomain: 'cluster.local',
  serviceCidr: '10.96.0.0/16',
  podCidrs: ['10.244.0.0/16'],
  podNetwork: false,
  nodeName: 'machine',
  nodeAddress: '192.0.2.1',
  hasOtherMachines: false,
  interfaceOf: '/nowhere',
  logger: new RecordingLogger(),
};

test('by itself it runs only where pods have a network of their own', async () => {
  expect(await prepareDns(request)).toBeUndefined();
  expect(await prepareDns({ ...request, wanted: false, podNetwork: true })).toBeUndefined();
});

test('asked for, it listens at the node’s address, and for pods and this machine only', async () => {
  const prepared = await prepareDns({ ...request, wanted: true });
  expect(prepared?.settings).toMatchObject({
    serviceAddress: '10.96.0.10',
    // Nothing leads to the cluster IP here: pods do not get it.
    reachable: false,
    listen: [],
    nodeAddress: '192.0.2.1',
    nodeName: 'machine',
  });
  expect(prepared?.settings.allowedClients).toEqual(
    expect.arrayContaining(['10.244.0.0/16', '10.96.0.0/16', '127.0.0.0/8']),
  );
  expect(prepared?.settings.allowedClients).toContain('192.0.2.1');
  expect(prepared?.settings.allowedClients).not.toContain('0.0.0.0/0');
  expect(prepared?.settings.allowedClients).not.toContain('10.0.0.0/8');
  await prepared?.undo();
});

test('where other machines can join, pods of those come with private addresses of their nodes', async () => {
  const prepared = await prepareDns({ ...request, wanted: true, hasOtherMachines: true });
  expect(prepared?.settings.allowedClients).toEqual(
    expect.arrayContaining(['10.0.0.0/8', '192.168.0.0/16', 'fc00::/7']),
  );
  await prepared?.undo();
});

test('what is in the way is an error if it was asked for, and a warning otherwise', async () => {
  const small = { ...request, serviceCidr: '10.96.0.0/29' };
  await expect(prepareDns({ ...small, wanted: true })).rejects.toThrow(
    '--dns: --service-cidr 10.96.0.0/29 has no tenth address',
  );
  const warnings: unknown[] = [];
  const logger = new RecordingLogger();
  logger.warn = (...values: unknown[]) => void warnings.push(values);
  expect(await prepareDns({ ...small, podNetwork: true, logger })).toBeUndefined();
  expect(JSON.stringify(warnings)).toContain('has no tenth address');
});

test('domains', () => {
  checkClusterDomain('cluster.local');
  checkClusterDomain('Example.Internal.');
  for (const domain of ['', '.', 'a..b', 'ä.example', 'a b']) {
    expect(() => checkClusterDomain(domain)).toThrow('--cluster-domain: ');
  }
});
