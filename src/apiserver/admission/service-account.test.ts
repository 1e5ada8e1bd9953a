// The secrets that the ServiceAccount of a pod allows, and what mirror pods may refer to. The other
// behaviour of the plugin is in admission.test.ts.

import { describe, expect, test } from 'vitest';

import { send } from '../testing/requests.ts';
import { serverPerTest } from '../testing/server-per-test.ts';

const NAMESPACE = '/api/v1/namespaces/default';
const MAIN = { name: 'c', image: 'i' };

const t = serverPerTest({ disableAdmissionPlugins: ['TaintNodesByCondition'] });

async function account(annotations: Readonly<Record<string, string>>): Promise<void> {
  const { code } = await send(t.server, {
    method: 'POST',
    path: `${NAMESPACE}/serviceaccounts`,
    body: {
      metadata: { name: 'default', annotations },
      secrets: [{ name: 'mine' }],
      imagePullSecrets: [{ name: 'pull' }],
    },
  });
  expect(code).toBe(201);
}

/** Returns the code, with the message of an error. */
async function create(spec: object, annotations: object = {}): Promise<string> {
  const { code, json } = await send(t.server, {
    method: 'POST',
    path: `${NAMESPACE}/pods`,
    body: { metadata: { name: 'p', annotations }, spec: { containers: [MAIN], ...spec } },
  });
  return code === 201 ? '201' : `${code} ${json.message}`;
}

const fromEnv = (name: string) => ({
  env: [{ name: 'E', valueFrom: { secretKeyRef: { name, key: 'k' } } }],
});
const fromEnvFrom = (name: string) => ({ envFrom: [{ secretRef: { name } }] });
const why = 'is not allowed because service account default does not reference that secret';
const ENFORCED = { 'kubernetes.io/enforce-mountable-secrets': 'true' };

describe('an account that limits the secrets of its pods', () => {
  test.each([
    [
      { volumes: [{ name: 'v', secret: { secretName: 'other' } }] },
      `volume with secret.secretName="other" ${why}`,
    ],
    [
      { containers: [{ ...MAIN, ...fromEnv('other') }] },
      `container c with envVar E referencing secret.secretName="other" ${why}`,
    ],
    [
      { containers: [{ ...MAIN, ...fromEnvFrom('other') }] },
      `container c with envFrom referencing secret.secretName="other" ${why}`,
    ],
    [
      { initContainers: [{ name: 'i', image: 'i', ...fromEnv('other') }] },
      `init container i with envVar E referencing secret.secretName="other" ${why}`,
    ],
    [
      { initContainers: [{ name: 'i', image: 'i', ...fromEnvFrom('other') }] },
      `init container i with envFrom referencing secret.secretName="other" ${why}`,
    ],
    [
      { imagePullSecrets: [{ name: 'pull' }, { name: 'other' }] },
      'imagePullSecrets[1].name="other" is not allowed because service account default does not ' +
        'reference that imagePullSecret',
    ],
  ])('rejects %j', async (spec, message) => {
    await account(ENFORCED);
    expect(await create(spec)).toBe(`403 pods "p" is forbidden: ${message}`);
  });

  test('allows those that it lists', async () => {
    await account(ENFORCED);
    const container = { ...MAIN, ...fromEnv('mine'), ...fromEnvFrom('mine') };
    const volumes = [{ name: 'v', secret: { secretName: 'mine' } }];
    expect(await create({ containers: [container], volumes })).toBe('201');
  });

  test('limits ephemeral containers, too', async () => {
    await account(ENFORCED);
    expect(await create({})).toBe('201');
    const add = async (container: object): Promise<string> => {
      const { code, json } = await send(t.server, {
        method: 'PATCH',
        path: `${NAMESPACE}/pods/p/ephemeralcontainers`,
        headers: { 'content-type': 'application/strategic-merge-patch+json' },
        body: { spec: { ephemeralContainers: [{ name: 'e', image: 'i', ...container }] } },
      });
      return code === 200 ? '200' : `${code} ${json.message}`;
    };
    expect(await add(fromEnv('other'))).toBe(
      '403 pods "p" is forbidden: ephemeral container e with envVar E referencing ' +
        `secret.secretName="other" ${why}`,
    );
    expect(await add(fromEnvFrom('other'))).toBe(
      '403 pods "p" is forbidden: ephemeral container e with envFrom referencing ' +
        `secret.secretName="other" ${why}`,
    );
    expect(await add(fromEnv('mine'))).toBe('200');
  });
});

test.each<Readonly<Record<string, string>>>([
  {},
  { 'kubernetes.io/enforce-mountable-secrets': 'false' },
])('an account with the annotations %j limits nothing', async (annotations) => {
  await account(annotations);
  expect(await create({ containers: [{ ...MAIN, ...fromEnv('other') }] })).toBe('201');
});

test.each([
  [{ serviceAccountName: 'default' }, 'a mirror pod may not reference service accounts'],
  [{ imagePullSecrets: [{ name: 's' }] }, 'a mirror pod may not reference secrets'],
  [{ containers: [{ ...MAIN, ...fromEnvFrom('s') }] }, 'a mirror pod may not reference secrets'],
  [
    { volumes: [{ name: 'v', secret: { secretName: 's' } }] },
    'a mirror pod may not reference secrets',
  ],
  [
    { volumes: [{ name: 'v', projected: { sources: [{ serviceAccountToken: { path: 't' } }] } }] },
    'a mirror pod may not use ServiceAccountToken volume projections',
  ],
])('a mirror pod with %j is rejected', async (spec, message) => {
  await account({});
  const annotations = { 'kubernetes.io/config.mirror': 'm' };
  expect(await create({ nodeName: 'n', ...spec }, annotations)).toBe(
    `403 pods "p" is forbidden: ${message}`,
  );
});
