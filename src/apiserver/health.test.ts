// The health endpoints, their single checks, and the metrics of their results.

import { afterAll, beforeAll, expect, test } from 'vitest';

import { HealthEndpoint, StartHooks } from '#machinery/serving/health.ts';
import { HealthSlis } from '#machinery/serving/health-slis.ts';
import { send } from './testing/requests.ts';
import { startTestServer, type TestServer } from './testing/server.ts';

let t: TestServer;
beforeAll(async () => (t = await startTestServer({ flags: { 'secure-port': '6443' } })));
afterAll(() => t.stop());

const get = async (path: string, headers: Record<string, string> = {}) =>
  send(t.server, { path, headers });

const HOOKS = [
  'start-apiserver-admission-initializer',
  'generic-apiserver-start-informers',
  'start-apiextensions-informers',
  'start-apiextensions-controllers',
  'crd-informer-synced',
  'start-system-namespaces-controller',
  'start-cluster-authentication-info-controller',
  'start-kube-apiserver-identity-lease-controller',
  'start-kube-apiserver-identity-lease-garbage-collector',
  'storage-readiness',
  'start-legacy-token-tracking-controller',
  'start-service-ip-repair-controllers',
  'rbac/bootstrap-roles',
  'scheduling/bootstrap-system-priority-classes',
  'priority-and-fairness-config-producer',
  'bootstrap-controller',
  'start-kubernetes-service-cidr-controller',
  'start-kube-aggregator-informers',
  'apiservice-status-local-available-controller',
  'apiservice-status-remote-available-controller',
  'apiservice-registration-controller',
  'apiservice-discovery-controller',
  'kube-apiserver-autoregistration',
  'autoregister-completion',
  'apiservice-openapi-controller',
  'apiservice-openapiv3-controller',
].map((name) => (name === 'autoregister-completion' ? name : `poststarthook/${name}`));

test.each([
  ['healthz', ['ping', 'log', 'etcd', ...HOOKS]],
  ['livez', ['ping', 'log', 'etcd', ...HOOKS]],
  ['readyz', ['ping', 'log', 'etcd', 'etcd-readiness', 'informer-sync', ...HOOKS, 'shutdown']],
])(
  '/%s?verbose lists the checks as upstream names them, and each has a path',
  async (name, checks) => {
    const lines = [...checks.map((check) => `[+]${check} ok`), `${name} check passed`, ''];
    expect((await get(`/${name}?verbose`)).text.split('\n')).toEqual(lines);
    for (const check of checks) {
      const { code, text } = await get(`/${name}/${check}`);
      expect([check, code, text]).toEqual([check, 200, 'ok']);
    }
    expect((await get(`/${name}/no-such-check`)).code).toBe(404);
  },
);

test('checks can be excluded', async () => {
  const { code, text } = await get('/livez?verbose&exclude=etcd&exclude=b&exclude=a');
  expect(code).toBe(200);
  expect(text).toContain('[+]log ok\n[+]etcd excluded: ok\n');
  expect(text).toContain(
    '\nwarn: some health checks cannot be excluded: no matches for "a","b"\nlivez check passed\n',
  );
});

test('an unfinished hook fails the check, and only its own path gives the reason', async () => {
  const hooks = new StartHooks(['first', 'second']);
  hooks.finish('first');
  expect(() => hooks.finish('third')).toThrow('no hook is named third');
  const slis = new HealthSlis();
  const endpoint = new HealthEndpoint({
    path: '/readyz',
    checks: () => hooks.checks,
    logger: undefined,
    slis,
  });
  expect(await endpoint.respond('/readyz', new URLSearchParams())).toMatchObject({
    code: 500,
    text: '[+]poststarthook/first ok\n[-]poststarthook/second failed: reason withheld\nreadyz check failed\n',
  });
  expect(
    await endpoint.respond('/readyz/poststarthook/second', new URLSearchParams()),
  ).toMatchObject({
    code: 500,
    text: 'internal server error: not finished\n',
  });
  expect(slis.text().split('\n')).toEqual([
    '# HELP kubernetes_healthcheck [STABLE] Whether the health check passed when it was last asked for.',
    '# TYPE kubernetes_healthcheck gauge',
    'kubernetes_healthcheck{name="poststarthook/first",type="readyz"} 1',
    'kubernetes_healthcheck{name="poststarthook/second",type="readyz"} 0',
    '# HELP kubernetes_healthchecks_total [STABLE] Results of health checks.',
    '# TYPE kubernetes_healthchecks_total counter',
    'kubernetes_healthchecks_total{name="poststarthook/first",status="success",type="readyz"} 1',
    'kubernetes_healthchecks_total{name="poststarthook/second",status="error",type="readyz"} 1',
    '',
  ]);
});

test('/metrics/slis has results before the first probe', async () => {
  const fresh = await startTestServer();
  const { text } = await send(fresh.server, { path: '/metrics/slis' });
  for (const type of ['healthz', 'livez', 'readyz'])
    expect(text).toContain(`kubernetes_healthcheck{name="etcd",type="${type}"} 1\n`);
  await fresh.stop();
});

test('/metrics/slis has the results', async () => {
  await get('/livez');
  expect((await get('/metrics/slis')).text).toContain(
    'kubernetes_healthcheck{name="etcd",type="livez"} 1\n',
  );
});

test('/statusz as text', async () => {
  const { code, headers, text } = await get('/statusz');
  expect([code, headers['content-type']]).toEqual([200, 'text/plain; charset=utf-8']);
  expect(text).toMatch(
    new RegExp(
      '^\\napiserver statusz\\nWarning: .*\\n\\nStarted: \\w{3} \\w{3} [ \\d]\\d \\d\\d:\\d\\d:\\d\\d UTC ' +
        '\\d{4}\\nUp: 0 hr 00 min \\d\\d sec\\n',
    ),
  );
  expect(text).toContain(
    '\nBinary version: 1.36.3\nEmulation version: 1.36\nPaths: /flagz /healthz /livez /metrics ' +
      '/readyz /statusz /version\n',
  );
});

test.each<[accept: string, code: number, type: string]>([
  [
    'application/json;as=Statusz;v=v1beta1;g=config.k8s.io',
    200,
    'application/json;g=config.k8s.io;v=v1beta1;as=Statusz',
  ],
  [
    'application/yaml;as=Statusz;v=v1beta1;g=config.k8s.io',
    200,
    'application/yaml;g=config.k8s.io;v=v1beta1;as=Statusz',
  ],
  [
    'application/json;as=Statusz;v=v1;g=config.k8s.io,text/plain;q=0.5',
    200,
    'text/plain; charset=utf-8',
  ],
  ['*/*', 200, 'text/plain; charset=utf-8'],
  ['application/json', 406, 'application/json'],
  ['application/json;as=Flagz;v=v1beta1;g=config.k8s.io', 406, 'application/json'],
])('/statusz as %s: %d', async (accept, code, type) => {
  const answer = await get('/statusz', { accept });
  expect([answer.code, answer.headers['content-type']]).toEqual([code, type]);
});

test('/flagz as an object; its old version is deprecated', async () => {
  const as = (version: string) =>
    get('/flagz', { accept: `application/json;as=Flagz;v=${version};g=config.k8s.io` });
  const { text, headers } = await as('v1beta1');
  expect(text).toBe(
    '{"kind":"Flagz","apiVersion":"config.k8s.io/v1beta1","metadata":{"name":"apiserver"},' +
      '"flags":{"secure-port":"6443"}}\n',
  );
  expect(headers['warning']).toBeUndefined();
  expect((await as('v1alpha1')).headers['warning']).toMatch(
    /^299 - "This version of the flagz endpoint is deprecated/,
  );
});
