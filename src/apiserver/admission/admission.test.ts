import { generateKeyPairSync } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import type { VirtualClock } from '#machinery/clock.ts';
import { type RawRequest, send } from '../testing/requests.ts';
import { startTestServer, type TestServer } from '../testing/server.ts';

const PODS = '/api/v1/namespaces/default/pods';
const ACCOUNTS = '/api/v1/namespaces/default/serviceaccounts';
const pod = (spec: object = {}, metadata: object = {}) => ({
  metadata: { name: 'p', ...metadata },
  spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
});

let t: TestServer;
afterEach(async () => {
  await t.stop();
  expect(t.logger.errors).toEqual([]);
});
const post = (path: string, body: object, more: Partial<RawRequest> = {}) =>
  send(t.server, { method: 'POST', path, body, ...more });

describe('pods', () => {
  beforeEach(async () => {
    t = await startTestServer();
  });

  test('tolerate nodes that are not ready for five minutes', async () => {
    const { json } = await post(PODS, pod());
    expect(json.spec?.['tolerations']).toEqual([
      {
        key: 'node.kubernetes.io/not-ready',
        operator: 'Exists',
        effect: 'NoExecute',
        tolerationSeconds: 300,
      },
      {
        key: 'node.kubernetes.io/unreachable',
        operator: 'Exists',
        effect: 'NoExecute',
        tolerationSeconds: 300,
      },
    ]);
    const own = {
      key: 'node.kubernetes.io/not-ready',
      operator: 'Exists',
      effect: 'NoExecute',
      tolerationSeconds: 1,
    };
    const second = await post(PODS, pod({ tolerations: [own] }, { name: 'q' }));
    expect(second.json.spec?.['tolerations']).toMatchObject([
      own,
      { key: 'node.kubernetes.io/unreachable' },
    ]);
    const third = await post(PODS, pod({ tolerations: [{ operator: 'Exists' }] }, { name: 'r' }));
    expect(third.json.spec?.['tolerations']).toEqual([{ operator: 'Exists' }]);
  });

  test('have the priority of their class', async () => {
    expect((await post(PODS, pod())).json.spec).toMatchObject({
      priority: 0,
      preemptionPolicy: 'PreemptLowerPriority',
    });
    const critical = await post(
      PODS,
      pod({ priorityClassName: 'system-node-critical' }, { name: 'q' }),
    );
    expect(critical.json.spec).toMatchObject({ priority: 2_000_001_000 });
    const unknown = await post(PODS, pod({ priorityClassName: 'none' }, { name: 'r' }));
    expect(unknown).toMatchObject({
      code: 403,
      json: { message: 'pods "r" is forbidden: no PriorityClass with name none was found' },
    });
    const wrong = await post(PODS, pod({ priority: 5 }, { name: 's' }));
    expect(wrong.code).toBe(403);
    expect(wrong.json.message).toContain(
      'the integer value of priority (5) must not be provided in pod spec',
    );
  });
});

describe('service accounts of pods', () => {
  const signingKey = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    .privateKey.export({ type: 'pkcs8', format: 'pem' })
    .toString();
  beforeEach(async () => {
    t = await startTestServer({
      disableAdmissionPlugins: [],
      serviceAccounts: { signingKey, mountTokens: true },
    });
  });

  test('are the default one unless another is named, and must exist', async () => {
    await post(ACCOUNTS, { metadata: { name: 'default' }, imagePullSecrets: [{ name: 's' }] });
    const { json } = await post(PODS, pod());
    expect(json.spec).toMatchObject({
      serviceAccountName: 'default',
      serviceAccount: 'default',
      imagePullSecrets: [{ name: 's' }],
    });
    const missing = await post(PODS, pod({ serviceAccountName: 'none' }, { name: 'q' }));
    expect(missing.code).toBe(403);
    expect(missing.json.message).toBe(
      'pods "q" is forbidden: error looking up service account default/none: serviceaccount "none" not found',
    );
  });

  test('are waited for in new namespaces', async () => {
    const waiting = post(PODS, pod());
    await post(ACCOUNTS, { metadata: { name: 'default' } });
    expect((await waiting).code).toBe(201);
  });

  test('are not waited for while time stands still', async () => {
    const before = t.clock.now();
    expect((await post(PODS, pod())).code).toBe(403);
    expect(t.clock.now()).toBe(before);
  });

  test('are not waited for long', async () => {
    const waiting = post(PODS, pod());
    await (t.clock as VirtualClock).advance('3s');
    expect((await waiting).code).toBe(403);
  });

  test('come with a token, unless pod or account turns it off', async () => {
    await post(ACCOUNTS, { metadata: { name: 'default' } });
    const { json } = await post(PODS, pod());
    const [volume] = (json.spec ?? {})['volumes'] as {
      name: string;
      projected: { sources: object[] };
    }[];
    expect(volume?.name).toMatch(/^kube-api-access-[a-z0-9]{5}$/);
    expect(volume?.projected.sources).toHaveLength(3);
    expect(json.spec?.['containers']).toMatchObject([
      {
        volumeMounts: [
          {
            name: volume?.name,
            readOnly: true,
            mountPath: '/var/run/secrets/kubernetes.io/serviceaccount',
          },
        ],
      },
    ]);
    const without = await post(PODS, pod({ automountServiceAccountToken: false }, { name: 'q' }));
    expect(without.json.spec?.['volumes']).toBeUndefined();
  });

  test('tokens are valid only for their pod, and as long as the pod exists', async () => {
    const account = (await post(ACCOUNTS, { metadata: { name: 'default' } })).json;
    const created = (await post(PODS, pod())).json;
    const bound = { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: created.metadata.uid };
    const { code, json } = await post(`${ACCOUNTS}/default/token`, {
      spec: { audiences: [], expirationSeconds: 600, boundObjectRef: bound },
    });
    expect(code).toBe(201);
    const status = json.status as { token: string; expirationTimestamp: string };
    expect(status.expirationTimestamp).toBe('2026-01-01T00:10:00Z');

    const whoami = () =>
      send(t.server, {
        method: 'POST',
        path: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
        headers: { authorization: `Bearer ${status.token}` },
        user: null,
        body: {},
      });
    expect((await whoami()).json).toMatchObject({
      status: {
        userInfo: {
          username: 'system:serviceaccount:default:default',
          uid: account.metadata.uid,
          groups: [
            'system:serviceaccounts',
            'system:serviceaccounts:default',
            'system:authenticated',
          ],
          extra: {
            'authentication.kubernetes.io/pod-name': ['p'],
            'authentication.kubernetes.io/pod-uid': [created.metadata.uid],
          },
        },
      },
    });
    const review = async (token: string, audiences: string[] = []) =>
      (await post('/apis/authentication.k8s.io/v1/tokenreviews', { spec: { token, audiences } }))
        .json.status;
    expect(await review(status.token)).toMatchObject({
      authenticated: true,
      user: { username: 'system:serviceaccount:default:default' },
    });
    expect(await review(status.token, ['other'])).toMatchObject({
      error: expect.stringContaining('is invalid for the target audiences ["other"]') as string,
    });
    const tampered = `${status.token.slice(0, -4)}AAAA`;
    expect(await review(tampered)).not.toHaveProperty('authenticated');

    await send(t.server, { method: 'DELETE', path: `${PODS}/p`, body: { gracePeriodSeconds: 0 } });
    expect((await whoami()).code).toBe(401);

    const unbound = (await post(`${ACCOUNTS}/default/token`, { spec: {} })).json.status as {
      token: string;
    };
    expect(await review(unbound.token)).toMatchObject({ authenticated: true });
    await (t.clock as VirtualClock).advance('61m');
    expect(await review(unbound.token)).not.toHaveProperty('authenticated');
  });

  test.each([
    [{ expirationSeconds: 60 }, 422, 'may not specify a duration less than 10 minutes'],
    [
      { boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: 'none' } },
      404,
      'pods "none" not found',
    ],
    [
      { boundObjectRef: { apiVersion: 'v1', kind: 'Service', name: 'x' } },
      400,
      'cannot bind token to object of type /v1, Kind=Service',
    ],
  ])('tokens are rejected for %j', async (spec, expected, message) => {
    await post(ACCOUNTS, { metadata: { name: 'default' } });
    const { code, json } = await post(`${ACCOUNTS}/default/token`, { spec });
    expect(code).toBe(expected);
    expect(json.message).toContain(message);
  });
});

describe('nodes', () => {
  const n1 = { name: 'system:node:n1', groups: ['system:nodes', 'system:authenticated'] };
  const as = { user: n1 };
  beforeEach(async () => {
    t = await startTestServer();
    for (const [name, nodeName] of [
      ['mine', 'n1'],
      ['other', 'n2'],
    ])
      await post(PODS, pod({ nodeName }, { name }));
  });

  test('write only themselves', async () => {
    expect((await post('/api/v1/nodes', { metadata: { name: 'n1' } }, as)).code).toBe(201);
    const other = await post('/api/v1/nodes', { metadata: { name: 'n2' } }, as);
    expect(other).toMatchObject({
      code: 403,
      json: { message: 'nodes "n2" is forbidden: node "n1" is not allowed to modify node "n2"' },
    });
  });

  test('write the status of their own pods only', async () => {
    const status = (name: string) =>
      send(t.server, {
        method: 'PATCH',
        path: `${PODS}/${name}/status`,
        headers: { 'content-type': 'application/strategic-merge-patch+json' },
        body: { status: { phase: 'Running' } },
        user: n1,
      });
    expect((await status('mine')).code).toBe(200);
    const other = await status('other');
    expect(other.json.message).toBe(
      'pods "other" is forbidden: node "n1" can only update pod status for pods with spec.nodeName set to itself',
    );
    const remove = (name: string) =>
      send(t.server, { method: 'DELETE', path: `${PODS}/${name}`, user: n1 });
    expect((await remove('mine')).code).toBe(200);
    expect((await remove('other')).code).toBe(403);
  });

  test('hold their own lease only', async () => {
    const leases = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';
    expect((await post(leases, { metadata: { name: 'n1' } }, as)).code).toBe(201);
    expect((await post(leases, { metadata: { name: 'n2' } }, as)).code).toBe(403);
    expect(
      (
        await post(
          '/apis/coordination.k8s.io/v1/namespaces/default/leases',
          { metadata: { name: 'n1' } },
          as,
        )
      ).code,
    ).toBe(403);
  });
});
