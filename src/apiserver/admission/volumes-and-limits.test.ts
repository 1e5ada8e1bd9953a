// Admission of claims, and limit ranges for pods and claims.

import { describe, expect, test } from 'vitest';

import { Api, outcome } from '../testing/api.ts';
import { serverPerTest } from '../testing/server-per-test.ts';

const t = serverPerTest();
const api = new Api(t);

const at = (resource: string): string => `/api/v1/namespaces/default/${resource}`;
const claim = (more = '', size = '1Gi', name = 'c'): string => `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: ${name}}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: ${size}}}${more}}
`;
const storageClass = (name: string, isDefault: boolean, more = ''): string => `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: ${name}, annotations: {storageclass.kubernetes.io/is-default-class: "${String(isDefault)}"}}
provisioner: example.com/disk
${more}
`;
const makeClass = (...args: Parameters<typeof storageClass>) =>
  api.post('/apis/storage.k8s.io/v1/storageclasses', storageClass(...args));

describe('the default storage class', () => {
  test('is set on claims without a class', async () => {
    await makeClass('b', true);
    await makeClass('a', true);
    await makeClass('0', false);
    // Both have the same creation time, so the first by name is chosen.
    expect((await api.post(at('persistentvolumeclaims'), claim())).json.spec).toMatchObject({
      storageClassName: 'a',
    });
    const none = await api.post(
      at('persistentvolumeclaims'),
      claim(', storageClassName: ""', '1Gi', 'd'),
    );
    expect(none.json.spec).toMatchObject({ storageClassName: '' });
  });

  test('is optional', async () => {
    await makeClass('a', false);
    expect((await api.post(at('persistentvolumeclaims'), claim())).json.spec).not.toHaveProperty(
      'storageClassName',
    );
  });
});

describe('claims that grow', () => {
  const CLAIM = at('persistentvolumeclaims/c');
  const grow = { spec: { resources: { requests: { storage: '2Gi' } } } };

  test.each([
    ['a', '200'],
    [
      'b',
      '403 Forbidden: persistentvolumeclaims "c" is forbidden: only dynamically provisioned ' +
        'pvc can be resized and the storageclass that provisions the pvc must support resize',
    ],
  ])('of class %s', async (name, expected) => {
    await makeClass('a', false, 'allowVolumeExpansion: true');
    await makeClass('b', false);
    await api.post(at('persistentvolumeclaims'), claim(`, storageClassName: ${name}`));
    await api.patch(`${CLAIM}/status`, { status: { phase: 'Bound' } });
    expect(outcome(await api.patch(CLAIM, grow))).toBe(expected);
  });
});

describe('limit ranges', () => {
  const range = (limits: string): string =>
    `{apiVersion: v1, kind: LimitRange, metadata: {name: l}, spec: {limits: [${limits}]}}`;
  const pod = (resources = '{}', init = ''): string => `
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers: [{name: c, image: i, resources: ${resources}}]
  ${init}
`;
  const limit = async (limits: string): Promise<void> => {
    expect(outcome(await api.post(at('limitranges'), range(limits)))).toBe('201');
  };

  test('have defaults of their own', async () => {
    const { json } = await api.post(
      at('limitranges'),
      range('{type: Container, max: {cpu: 2}, min: {memory: 1Mi}}'),
    );
    expect(json.spec).toEqual({
      limits: [
        {
          type: 'Container',
          max: { cpu: '2' },
          min: { memory: '1Mi' },
          default: { cpu: '2' },
          defaultRequest: { cpu: '2', memory: '1Mi' },
        },
      ],
    });
  });

  test('set missing requests and limits of containers, and record it', async () => {
    await limit(
      '{type: Container, default: {cpu: 500m, memory: 1Gi}, defaultRequest: {cpu: 100m}}',
    );
    const { json } = await api.post(
      at('pods'),
      pod(
        '{limits: {cpu: 1}}',
        'initContainers: [{name: d, image: i, resources: {requests: {memory: 5Mi}}}]',
      ),
    );
    expect(json.spec).toMatchObject({
      containers: [
        {
          resources: { limits: { cpu: '1', memory: '1Gi' }, requests: { cpu: '1', memory: '1Gi' } },
        },
      ],
      initContainers: [
        {
          resources: {
            limits: { cpu: '500m', memory: '1Gi' },
            requests: { cpu: '100m', memory: '5Mi' },
          },
        },
      ],
    });
    expect(json.metadata.annotations).toEqual({
      'kubernetes.io/limit-ranger':
        'LimitRanger plugin set: memory request for container c; memory limit for container c; ' +
        'cpu request for init container d; cpu, memory limit for init container d',
    });
  });

  test('do not change complete containers', async () => {
    await limit('{type: Container, default: {cpu: 500m}}');
    const { json } = await api.post(at('pods'), pod('{limits: {cpu: 100m}}'));
    expect(json.metadata.annotations).toBeUndefined();
    expect(json.spec).toMatchObject({
      containers: [{ resources: { limits: { cpu: '100m' }, requests: { cpu: '100m' } } }],
    });
  });

  test.each<[limits: string, resources: string, why: string]>([
    [
      '{type: Container, max: {cpu: 1}}',
      '{limits: {cpu: 2}}',
      'maximum cpu usage per Container is 1, but limit is 2',
    ],
    [
      '{type: Container, min: {cpu: 1}}',
      '{requests: {cpu: 500m}}',
      'minimum cpu usage per Container is 1, but request is 500m',
    ],
    [
      '{type: Pod, max: {cpu: 1, memory: 1Gi}}',
      '{limits: {cpu: 2}}',
      '[maximum cpu usage per Pod is 1, but limit is 2, maximum memory usage per Pod is 1Gi.  No limit is specified]',
    ],
    [
      '{type: Pod, min: {cpu: 1}}',
      '{}',
      'minimum cpu usage per Pod is 1.  No request is specified',
    ],
    [
      '{type: Container, maxLimitRequestRatio: {cpu: 2}}',
      '{limits: {cpu: 3}, requests: {cpu: 1}}',
      'cpu max limit to request ratio per Container is 2, but provided ratio is 3.000000',
    ],
    [
      '{type: Container, maxLimitRequestRatio: {cpu: 2}}',
      '{}',
      'cpu max limit to request ratio per Container is 2, but no request is specified or request is 0',
    ],
  ])('%s reject %s', async (limits, resources, why) => {
    await limit(limits);
    expect(outcome(await api.post(at('pods'), pod(resources)))).toBe(
      `403 Forbidden: pods "p" is forbidden: ${why}`,
    );
  });

  test('bound pods that are resized', async () => {
    await api.post(at('pods'), pod('{limits: {cpu: 1}, requests: {cpu: 500m}}'));
    await limit('{type: Container, max: {cpu: 1}, min: {cpu: 200m}}');
    const resize = async (limits: string, requests: string) =>
      outcome(
        await api.patch(`${at('pods')}/p/resize`, {
          spec: {
            containers: [
              {
                name: 'c',
                image: 'i',
                resources: { limits: { cpu: limits }, requests: { cpu: requests } },
              },
            ],
          },
        }),
      );
    const refused = '403 Forbidden: pods "p" is forbidden:';
    expect(await resize('2', '500m')).toBe(
      `${refused} maximum cpu usage per Container is 1, but limit is 2`,
    );
    expect(await resize('1', '100m')).toBe(
      `${refused} minimum cpu usage per Container is 200m, but request is 100m`,
    );
    expect(await resize('1', '200m')).toBe('200');
  });

  test('bound claims, too', async () => {
    await limit('{type: PersistentVolumeClaim, min: {storage: 1Gi}, max: {storage: 5Gi}}');
    const create = async (size: string) =>
      outcome(await api.post(at('persistentvolumeclaims'), claim('', size)));
    const refused = '403 Forbidden: persistentvolumeclaims "c" is forbidden:';
    expect(await create('6Gi')).toBe(
      `${refused} maximum storage usage per PersistentVolumeClaim is 5Gi, but request is 6Gi`,
    );
    expect(await create('1Mi')).toBe(
      `${refused} minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 1Mi`,
    );
    expect(await create('1Gi')).toBe('201');
  });

  test('apply to one namespace', async () => {
    await limit('{type: Pod, max: {cpu: 1}}');
    await api.post(
      '/api/v1/namespaces',
      '{apiVersion: v1, kind: Namespace, metadata: {name: other}}',
    );
    expect(outcome(await api.post('/api/v1/namespaces/other/pods', pod()))).toBe('201');
  });
});
