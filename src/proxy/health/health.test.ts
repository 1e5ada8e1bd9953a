import { afterEach, expect, test } from 'vitest';
import { VirtualClock } from '#machinery/clock.ts';
import { createLogger } from '#machinery/log.ts';
import { versionInfo } from '#machinery/version-info.ts';
import type { ServiceRules } from '../model.ts';
import { ProxyHealth } from './proxy-health.ts';
import { ServiceHealth } from './service-health.ts';
import { serveProbes } from '#machinery/serving/probes.ts';
import { statusPages } from './status.ts';

const node = (taints: readonly string[] = []) =>
  ({
    metadata: { name: 'here' },
    spec: { taints: taints.map((key) => ({ key, effect: 'NoSchedule' })) },
    status: {},
  }) as never;

test('a lagging proxy is unhealthy; a node that is being removed is not eligible', async () => {
  const clock = new VirtualClock();
  const health = new ProxyHealth({ clock, families: ['IPv4'] });
  expect(JSON.parse(health.report('healthz').body)).toMatchObject({
    nodeEligible: false,
    healthy: true,
  });
  health.setNode(node());
  expect(health.report('healthz').healthy).toBe(true);
  health.queued();
  await clock.advance('59s');
  expect(health.report('livez').healthy).toBe(true);
  await clock.advance('1s');
  health.queued();
  expect([health.report('livez').healthy, health.report('healthz').healthy]).toEqual([
    false,
    false,
  ]);
  health.updated();
  health.setNode(node(['ToBeDeletedByClusterAutoscaler']));
  expect([health.report('livez').healthy, health.report('healthz').healthy]).toEqual([true, false]);
  expect(JSON.parse(health.report('livez').body)).not.toHaveProperty('nodeEligible');
});

let health: ServiceHealth | undefined;
afterEach(() => health?.close());

const rules = (port: number, localReady: number): ServiceRules => ({
  key: 'default/web',
  created: '',
  ports: [],
  healthCheckNodePort: port,
  localReady,
  problems: [],
});

test('health check node ports report the number of endpoints on the node', async () => {
  const probe = await serveProbes('127.0.0.1', 0, () => undefined);
  const { port } = probe;
  const failures: string[] = [];
  let isHealthy = true;
  health = new ServiceHealth({
    addresses: () => ['127.0.0.1'],
    isHealthy: () => isHealthy,
    logger: createLogger({ destination: { write: () => undefined } }),
    onFailure: (service) => failures.push(service),
  });
  const update = (given: ServiceRules | undefined, complete = false) =>
    health?.update({
      complete,
      changes: new Map(
        given === undefined ? [['default/web', undefined]] : [['default/web', given]],
      ),
    });
  const ask = async (): Promise<string> => {
    const response = await fetch(`http://127.0.0.1:${port}/`);
    const weight = response.headers.get('x-load-balancing-endpoint-weight');
    return `${response.status} ${weight} ${(await response.text()).replaceAll(/\s/g, '')}`;
  };
  await update(rules(port, 1), true);
  expect(failures).toEqual(['default/web']);
  await probe.close();
  await update(undefined);
  await update(rules(port, 2));
  const body = (count: number, proxied = true): string =>
    `{"service":{"namespace":"default","name":"web"},"localEndpoints":${count},"serviceProxyHealthy":${proxied}}`;
  expect(await ask()).toBe(`200 2 ${body(2)}`);
  await update(rules(port, 0));
  expect(await ask()).toBe(`503 0 ${body(0)}`);
  await update(rules(port, 1));
  isHealthy = false;
  expect(await ask()).toBe(`503 1 ${body(1, false)}`);
  await update(undefined);
  await expect(ask()).rejects.toThrow('fetch failed');
});

test('the status pages are metrics, the mode and health; others are not found', async () => {
  let mode = '';
  const server = await serveProbes(
    '127.0.0.1',
    0,
    statusPages({
      metrics: () =>
        '# HELP kubeproxy_sync Syncs.\n# TYPE kubeproxy_sync counter\nkubeproxy_sync 3\n',
      mode: () => mode,
      version: versionInfo('v1.36.3'),
    }),
  );
  try {
    const get = async (path: string): Promise<[number, string]> => {
      const response = await fetch(`http://127.0.0.1:${server.port}${path}`);
      return [response.status, await response.text()];
    };
    expect(await get('/proxyMode')).toEqual([200, '']);
    mode = 'nftables';
    expect(await get('/proxyMode')).toEqual([200, 'nftables']);
    expect(await get('/healthz')).toEqual([200, 'ok']);
    const [status, text] = await get('/metrics?x=1');
    expect(status).toBe(200);
    expect(text).toContain('kubeproxy_sync 3');
    expect(text).toMatch(/^kubernetes_build_info\{.*git_version="v1\.36\.3"/m);
    expect(await get('/configz')).toEqual([404, '404 page not found\n']);
  } finally {
    await server.close();
  }
});
