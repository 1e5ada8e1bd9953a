import { describe, expect, test } from 'vitest';
import type { PersistentVolume, Pod } from '#api/groups/core/v1/index.ts';
import type { Immutable, New } from '#api/machinery/meta/v1/index.ts';
import { newVolume } from '../testing/objects.ts';
import { DEFAULT_TEMPLATE, recyclerPod, recycledVolume } from './recycler-pod.ts';

const volume = (spec: object, size = '1Gi') =>
  newVolume('v', spec, {}, size) as Immutable<PersistentVolume>;
const NFS = { hostPath: undefined, nfs: { server: 'files', path: '/a', readOnly: true } };

describe('the pod that recycles a volume', () => {
  test('is named after the volume, has it as its first volume, and upstream’s command', () => {
    const pod = recyclerPod(volume(NFS), {});
    expect(pod?.metadata).toEqual({ namespace: 'default', name: 'recycler-for-v' });
    expect(pod?.spec?.volumes).toEqual([{ name: 'vol', nfs: { server: 'files', path: '/a' } }]);
    expect(pod?.spec?.restartPolicy).toBe('Never');
    expect(pod?.spec?.containers).toEqual(DEFAULT_TEMPLATE.spec?.containers);
    expect(recycledVolume(pod as Immutable<Pod>)).toBe('v');
    expect(recycledVolume({ metadata: { name: 'web' } } as Immutable<Pod>)).toBeUndefined();
  });

  test('has a hostPath of any type', () => {
    const pod = recyclerPod(volume({ hostPath: { path: '/data', type: 'Directory' } }), {});
    expect(pod?.spec?.volumes).toEqual([{ name: 'vol', hostPath: { path: '/data' } }]);
  });

  test('is there for no other kind of volume', () => {
    const local = { hostPath: undefined, local: { path: '/data' } };
    expect(recyclerPod(volume(local), {})).toBeUndefined();
  });

  test.each([
    ['NFS', NFS, '1Gi', 300],
    ['NFS', NFS, '10Gi', 300],
    ['NFS', NFS, '11Gi', 330],
    ['hostPath', {}, '1Gi', 60],
    ['hostPath', {}, '3500Mi', 90],
    ['hostPath', {}, '1Mi', 60],
  ])('may take for %s %j of %s so many seconds: %i', (_, spec, size, seconds) => {
    expect(recyclerPod(volume(spec, size), {})?.spec?.activeDeadlineSeconds).toBe(seconds);
  });

  test('is made from a template, with the times of its kind of volume', () => {
    const template: New<Pod> = {
      metadata: { generateName: 'x-', namespace: 'system', labels: { a: 'b' } },
      spec: {
        containers: [{ name: 'c', image: 'i' }],
        volumes: [{ name: 'data', emptyDir: {} }, { name: 'more' }],
      },
    };
    const nfs = { template, minimumTimeoutSeconds: 10, timeoutIncrementSeconds: 7 };
    const pod = recyclerPod(volume(NFS, '5Gi'), { nfs });
    expect(pod?.metadata).toEqual({
      namespace: 'system',
      name: 'recycler-for-v',
      labels: { a: 'b' },
    });
    expect(pod?.spec).toEqual({
      containers: [{ name: 'c', image: 'i' }],
      activeDeadlineSeconds: 35,
      volumes: [{ name: 'data', nfs: { server: 'files', path: '/a' } }, { name: 'more' }],
    });
    expect(recyclerPod(volume({}), { nfs })?.metadata?.namespace).toBe('default');
  });
});
