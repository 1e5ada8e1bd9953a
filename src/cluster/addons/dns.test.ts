import { afterEach, expect, test } from 'vitest';
import { endpointSlices } from '#api/groups/discovery/v1/index.ts';
import { services } from '#api/groups/core/v1/index.ts';
import { nodeSockets } from '#dns/index.ts';
import * as wait from '#machinery/wait.ts';
import { systemClock } from '#machinery/clock.ts';
import { decode, encode } from 'dns-packet';
import { startCluster, type EmbeddedCluster } from '../index.ts';

let cluster: EmbeddedCluster | undefined;
afterEach(async () => {
  await cluster?.stop();
  cluster = undefined;
});

const WEB = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'web', namespace: 'default' },
  spec: { clusterIP: '10.96.3.4', ports: [{ name: 'http', port: 80 }] },
};

test('a cluster resolves its services by name, and has the Service kube-dns', async () => {
  cluster = await startCluster({ dns: true });
  const { client } = cluster;
  const service = await client.resource(services).namespace('kube-system').get('kube-dns');
  expect(service.spec.clusterIP).toBe('10.96.0.10');
  expect(
    service.spec.ports?.map(({ name, port, protocol }) => `${name} ${port}/${protocol}`),
  ).toEqual(['dns 53/UDP', 'dns-tcp 53/TCP']);
  expect(await cluster.resolve('kube-dns.kube-system.svc.cluster.local', 'A')).toMatchObject({
    rcode: 'NOERROR',
    answers: [
      { name: 'kube-dns.kube-system.svc.cluster.local', type: 'A', ttl: 5, data: '10.96.0.10' },
    ],
  });
  await cluster.apply(WEB);
  await eventually(
    async () => (await resolveA('web.default.svc.cluster.local')).join() === '10.96.3.4',
  );
  // Nothing listens that other machines or pods could reach: there is no endpoint.
  expect((await client.resource(endpointSlices).namespace('kube-system').list()).items).toEqual([]);
});

test('on a virtual clock, with a domain of its own', async () => {
  cluster = await startCluster({ dns: true, clock: 'virtual', clusterDomain: 'example.internal' });
  expect(await resolveA('kubernetes.default.svc.example.internal')).toEqual(['10.96.0.1']);
  expect((await cluster.resolve('kubernetes.default.svc.cluster.local', 'A')).rcode).toBe(
    'SERVFAIL',
  );
});

test('listens on 127.0.0.1 if it is asked to', async () => {
  cluster = await startCluster({ dns: true, dnsPort: 0 });
  const query = encode({
    id: 7,
    type: 'query',
    questions: [{ name: 'kubernetes.default.svc.cluster.local', type: 'A' }],
  });
  const at = { address: '127.0.0.1', port: cluster.dnsPort ?? 0 };
  const answer = decode(await nodeSockets.askUdp(at, query, () => true, AbortSignal.timeout(5000)));
  expect(answer.answers).toMatchObject([{ data: '10.96.0.1' }]);
});

test('makes way for pods while the Service selects some', async () => {
  cluster = await startCluster({ dns: true });
  const inSystem = cluster.client.resource(services).namespace('kube-system');
  const select = (selector: Record<string, string> | null) =>
    inSystem.patch('kube-dns', 'application/merge-patch+json', { spec: { selector } });
  const isRunning = (): Promise<boolean> =>
    (cluster as EmbeddedCluster).resolve('kubernetes.default.svc.cluster.local', 'A').then(
      () => true,
      () => false,
    );
  expect(await isRunning()).toBe(true);
  await select({ 'k8s-app': 'kube-dns' });
  await eventually(async () => !(await isRunning()));
  await select(null);
  await eventually(isRunning);
});

test('a range or a domain that cannot be is refused', async () => {
  cluster = await startCluster({ dns: true });
  await expect(startCluster({ dns: true, serviceCidr: '10.96.0.0/29' })).rejects.toThrow(
    'has no tenth address',
  );
  await expect(startCluster({ dns: true, clusterDomain: 'a..b' })).rejects.toThrow(
    '"a..b" is not a DNS domain',
  );
});

test('without DNS, resolve says what is missing', async () => {
  cluster = await startCluster({ nodes: 0 });
  await expect(cluster.resolve('a', 'A')).rejects.toThrow('start it with `dns: true`');
  expect(cluster.dnsPort).toBeUndefined();
});

async function resolveA(name: string): Promise<readonly unknown[]> {
  const { answers = [] } = (await cluster?.resolve(name, 'A')) ?? {};
  return answers.map((answer) => (answer as { data: unknown }).data);
}

const eventually = (condition: wait.Condition): Promise<void> =>
  wait.pollImmediately({ clock: systemClock, intervalMs: 5, timeoutMs: 60_000 }, condition);
