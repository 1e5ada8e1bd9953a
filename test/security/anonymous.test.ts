// Requests without credentials, or with credentials that this cluster did not issue.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeTestAuthority } from '#apiserver/testing/certificates.ts';
import { type SecuredCluster, startSecuredCluster } from './cluster.ts';

let cluster: SecuredCluster;
beforeAll(async () => {
  cluster = await startSecuredCluster();
});
afterAll(() => cluster.stop());

describe('without credentials', () => {
  test.each(['/healthz', '/livez', '/readyz', '/version'])('%s is served', async (path) => {
    expect((await cluster.request({ path, credentials: null })).code).toBe(200);
  });

  test.each([
    '/',
    '/api',
    '/apis',
    '/api/v1/pods',
    '/api/v1/namespaces/default/secrets',
    '/metrics',
    '/openapi/v2',
    '/openapi/v3',
    '/debug/pprof/',
    '/debug/pprof/profile',
    '/logs/',
    '/apis/authentication.k8s.io/v1/selfsubjectreviews',
    '/api/v1/nodes/node-1/proxy/pods',
    '/healthz/../api/v1/secrets',
    '/livez/../../api/v1/secrets',
    '//api/v1/secrets',
    '/./api/v1/secrets',
    '/version/../api/v1/secrets',
    '/healthz%2f..%2fapi/v1/secrets',
  ])('%s is not', async (path) => {
    const { code, text } = await cluster.request({ path, credentials: null });
    expect([401, 403, 404]).toContain(code);
    expect(text).not.toMatch(/"items"|"kind":\s*"(?!Status")/);
  });

  test.each([
    ['an empty bearer token', { authorization: 'Bearer ' }],
    ['a bearer token of our own making', { authorization: 'Bearer admin' }],
    [
      'basic authentication',
      { authorization: `Basic ${Buffer.from('admin:admin').toString('base64')}` },
    ],
    ['headers of a front proxy', { 'x-remote-user': 'admin', 'x-remote-group': 'system:masters' }],
    ['impersonation', { 'impersonate-user': 'admin', 'impersonate-group': 'system:masters' }],
  ])('%s gives no access', async (_, headers) => {
    const { code } = await cluster.request({ path: '/api/v1/secrets', credentials: null, headers });
    expect([401, 403]).toContain(code);
  });
});

test('a client certificate of another authority gives no access, whatever its name', async () => {
  const other = await makeTestAuthority();
  const credentials = await other.client('admin', ['system:masters']);
  // TLS may end the connection, or the request is answered as one without credentials.
  const outcome = await cluster.request({ path: '/api/v1/secrets', credentials }).then(
    ({ code }) => code,
    (error: NodeJS.ErrnoException) => error.code ?? 'failed',
  );
  expect(outcome).not.toBe(200);
  expect((await cluster.request({ path: '/api/v1/secrets' })).code).toBe(200);
});
