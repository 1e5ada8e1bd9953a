import { expect, test } from 'vitest';
import { makeContainer, makePod } from '../testing/make-pod.ts';
import type { PodSpec } from '../types.ts';
import { apiReferenceOf } from './api-references.ts';

const KEY = { name: 'x', key: 'y' };
const volumes = (source: object): Partial<PodSpec> => ({ volumes: [{ name: 'v', ...source }] });
const projected = (source: object): Partial<PodSpec> =>
  volumes({ projected: { sources: [source] } });

test.each<readonly [Partial<PodSpec>, string | undefined]>([
  [{}, undefined],
  [volumes({ emptyDir: {} }), undefined],
  [volumes({ hostPath: { path: '/' } }), undefined],
  [volumes({ image: { reference: 'x' } }), undefined],
  [projected({ downwardAPI: {} }), undefined],
  [{ serviceAccountName: 'default' }, 'serviceaccounts'],
  [{ imagePullSecrets: [{ name: 'x' }] }, 'secrets'],
  [volumes({ secret: { secretName: 'x' } }), 'secrets'],
  [projected({ secret: { name: 'x' } }), 'secrets'],
  [volumes({ csi: { driver: 'd', nodePublishSecretRef: { name: 'x' } } }), 'secrets'],
  [
    {
      initContainers: [
        makeContainer('i', { env: [{ name: 'A', valueFrom: { secretKeyRef: KEY } }] }),
      ],
    },
    'secrets',
  ],
  [
    { containers: [makeContainer('c', { envFrom: [{ configMapRef: { name: 'x' } }] })] },
    'configmaps',
  ],
  [volumes({ configMap: { name: 'x' } }), 'configmaps'],
  [projected({ configMap: { name: 'x' } }), 'configmaps'],
  [{ resourceClaims: [{ name: 'x' }] }, 'resourceclaims'],
  [volumes({ csi: { driver: 'd' } }), 'csidrivers (via CSI volumes)'],
  [volumes({ persistentVolumeClaim: { claimName: 'x' } }), 'persistentvolumeclaims'],
  [volumes({ ephemeral: {} }), 'persistentvolumeclaims (via ephemeral volumes)'],
  [projected({ serviceAccountToken: { path: 'x' } }), 'serviceaccounts (via projected volumes)'],
  [projected({ clusterTrustBundle: { path: 'x' } }), 'clustertrustbundles'],
])('%j refers to %s', (spec, expected) => {
  expect(apiReferenceOf(makePod({ spec }))).toBe(expected);
});
