import { describe, expect, test } from 'vitest';

import type { PersistentVolume, Pod } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { NodeGraph } from './graph.ts';

const DEFAULTS = { creationTimestamp: '', resourceVersion: '1' };

function pod(
  name: string,
  nodeName: string | undefined,
  spec: object = {},
  more: { status?: object; metadata?: object } = {},
) {
  return {
    metadata: { ...DEFAULTS, uid: `uid-${name}`, name, namespace: 'x', ...more.metadata },
    spec: { containers: [{ name: 'c' }], ...(nodeName !== undefined && { nodeName }), ...spec },
    status: { ...more.status },
  } as unknown as Immutable<Pod>;
}

function volume(name: string, claim: string | undefined, source: object = {}) {
  const spec = {
    ...(claim !== undefined && { claimRef: { namespace: 'x', name: claim } }),
    ...source,
  };
  return {
    metadata: { ...DEFAULTS, uid: name, name },
    spec,
    status: {},
  } as unknown as Immutable<PersistentVolume>;
}

const withClaim = (claimName: string) => ({
  volumes: [{ name: 'v', persistentVolumeClaim: { claimName } }],
});

describe('a pod', () => {
  test('connects only the objects that it refers to with its node', () => {
    const graph = new NodeGraph();
    const reference = (name: string) => ({ secretKeyRef: { name, key: 'k' } });
    graph.setPod(
      pod(
        'p',
        'n1',
        {
          serviceAccountName: 'account',
          imagePullSecrets: [{ name: 'pull' }, {}],
          containers: [
            {
              name: 'c',
              envFrom: [{ configMapRef: { name: 'all' } }],
              env: [{ name: 'E', valueFrom: reference('one') }],
            },
          ],
          initContainers: [{ name: 'i', envFrom: [{ secretRef: { name: 'early' } }] }],
          volumes: [
            { name: 'a', configMap: { name: 'files' } },
            { name: 'b', secret: { secretName: 'keys' } },
            {
              name: 'c',
              projected: {
                sources: [{ secret: { name: 'part' } }, { configMap: { name: 'piece' } }, {}],
              },
            },
            { name: 'd', ephemeral: { volumeClaimTemplate: { spec: {} } } },
            { name: 'e', persistentVolumeClaim: { claimName: 'claim' } },
            { name: 'f', csi: { driver: 'd', nodePublishSecretRef: { name: 'driver' } } },
            { name: 'g', rbd: { secretRef: { name: 'rbd' } } },
            { name: 'h', azureFile: { secretName: 'share' } },
          ],
          resourceClaims: [
            { name: 'direct', resourceClaimName: 'device' },
            { name: 'made', resourceClaimTemplateName: 't' },
            { name: 'none-yet', resourceClaimTemplateName: 't' },
          ],
        },
        {
          status: {
            resourceClaimStatuses: [{ name: 'made', resourceClaimName: 'p-made-x' }],
            extendedResourceClaimStatus: { resourceClaimName: 'p-extended', requestMappings: [] },
          },
        },
      ),
    );
    const expected = {
      pod: ['p'],
      serviceaccount: ['account'],
      secret: ['pull', 'one', 'early', 'keys', 'part', 'driver', 'rbd', 'share'],
      configmap: ['all', 'files', 'piece'],
      pvc: ['p-d', 'claim'],
      resourceclaim: ['device', 'p-made-x', 'p-extended'],
    } as const;
    for (const [kind, names] of Object.entries(expected)) {
      for (const name of names) {
        expect([kind, name, graph.leadsTo('n1', kind as 'pod', 'x', name)]).toEqual([
          kind,
          name,
          true,
        ]);
        expect(graph.leadsTo('n2', kind as 'pod', 'x', name)).toBe(false);
        expect(graph.leadsTo('n1', kind as 'pod', 'y', name)).toBe(false);
      }
      expect(graph.leadsTo('n1', kind as 'pod', 'x', 'other')).toBe(false);
      expect(graph.leadsTo('n1', kind as 'pod', 'x', '')).toBe(false);
    }
  });

  test('connects nothing without a node, and only until it is deleted', () => {
    const graph = new NodeGraph();
    const spec = { imagePullSecrets: [{ name: 's' }] };
    graph.setPod(pod('p', undefined, spec));
    expect(graph.leadsTo('', 'secret', 'x', 's')).toBe(false);
    graph.setPod(pod('p', 'n1', spec));
    graph.setPod(pod('q', 'n1', spec));
    expect(graph.leadsTo('n1', 'secret', 'x', 's')).toBe(true);
    graph.deletePod('x/p');
    expect(graph.leadsTo('n1', 'secret', 'x', 's')).toBe(true);
    graph.deletePod('x/q');
    graph.deletePod('x/q');
    expect(graph.leadsTo('n1', 'secret', 'x', 's')).toBe(false);
    expect(graph.leadsTo('n1', 'pod', 'x', 'q')).toBe(false);
  });

  test('of the same name on another node replaces the old one', () => {
    const graph = new NodeGraph();
    graph.setPod(pod('p', 'n1', withClaim('c')));
    graph.setPod(pod('p', 'n2', withClaim('c'), { metadata: { uid: 'another' } }));
    expect(graph.leadsTo('n1', 'pvc', 'x', 'c')).toBe(false);
    expect(graph.leadsTo('n2', 'pvc', 'x', 'c')).toBe(true);
  });

  test('connects more with ephemeral containers and later claims', () => {
    const graph = new NodeGraph();
    const claims = { resourceClaims: [{ name: 'd', resourceClaimTemplateName: 't' }] };
    graph.setPod(pod('p', 'n1', claims));
    expect(graph.leadsTo('n1', 'resourceclaim', 'x', 'p-d')).toBe(false);
    const status = { resourceClaimStatuses: [{ name: 'd', resourceClaimName: 'p-d' }] };
    graph.setPod(pod('p', 'n1', claims, { status }));
    expect(graph.leadsTo('n1', 'resourceclaim', 'x', 'p-d')).toBe(true);
    const debug = {
      ...claims,
      ephemeralContainers: [{ name: 'e', envFrom: [{ secretRef: { name: 'late' } }] }],
    };
    graph.setPod(pod('p', 'n1', debug, { status }));
    expect(graph.leadsTo('n1', 'secret', 'x', 'late')).toBe(true);
    expect(graph.leadsTo('n1', 'resourceclaim', 'x', 'p-d')).toBe(true);
  });

  test('that mirrors a static pod connects nothing', () => {
    const graph = new NodeGraph();
    const metadata = { annotations: { 'kubernetes.io/config.mirror': 'm' } };
    graph.setPod(
      pod('p', 'n1', { imagePullSecrets: [{ name: 's' }], ...withClaim('c') }, { metadata }),
    );
    expect(graph.leadsTo('n1', 'pod', 'x', 'p')).toBe(true);
    expect(graph.leadsTo('n1', 'secret', 'x', 's')).toBe(false);
    expect(graph.leadsTo('n1', 'pvc', 'x', 'c')).toBe(false);
  });
});

describe('a volume', () => {
  const secrets = {
    csi: {
      driver: 'd',
      nodeStageSecretRef: { namespace: 'system', name: 'stage' },
      nodePublishSecretRef: { namespace: 'system', name: 'publish' },
      nodeExpandSecretRef: { namespace: 'system', name: 'expand' },
      controllerPublishSecretRef: { namespace: 'system', name: 'controller' },
    },
  };

  test('belongs to the nodes of its claim, with the secrets that they need', () => {
    const graph = new NodeGraph();
    // Volumes may be added before or after their claims.
    graph.setVolume(volume('before', 'c', secrets));
    graph.setPod(pod('p', 'n1', withClaim('c')));
    expect(graph.leadsTo('n1', 'pv', '', 'before')).toBe(true);
    expect(graph.leadsTo('n2', 'pv', '', 'before')).toBe(false);
    for (const name of ['stage', 'publish', 'expand']) {
      expect(graph.leadsTo('n1', 'secret', 'system', name)).toBe(true);
      expect(graph.leadsTo('n2', 'secret', 'system', name)).toBe(false);
    }
    expect(graph.leadsTo('n1', 'secret', 'system', 'controller')).toBe(false);
    graph.setVolume(volume('after', 'other', { rbd: { secretRef: { name: 'rbd' } } }));
    expect(graph.leadsTo('n1', 'pv', '', 'after')).toBe(false);
    // A secret without a namespace is in the claim's namespace.
    expect(graph.leadsTo('n1', 'secret', 'x', 'rbd')).toBe(false);
    graph.setPod(pod('q', 'n1', withClaim('other')));
    expect(graph.leadsTo('n1', 'secret', 'x', 'rbd')).toBe(true);
    graph.deletePod('x/q');
    expect(graph.leadsTo('n1', 'secret', 'x', 'rbd')).toBe(false);
  });

  test('without a claim, or deleted, belongs to no node', () => {
    const graph = new NodeGraph();
    graph.setPod(pod('p', 'n1', withClaim('c')));
    graph.setVolume(volume('v', 'c', secrets));
    graph.setVolume(volume('v', undefined, secrets));
    expect(graph.leadsTo('n1', 'pv', '', 'v')).toBe(false);
    expect(graph.leadsTo('n1', 'secret', 'system', 'stage')).toBe(false);
    graph.setVolume(volume('v', 'c', secrets));
    expect(graph.leadsTo('n1', 'secret', 'system', 'stage')).toBe(true);
    graph.deleteVolume('v');
    expect(graph.leadsTo('n1', 'secret', 'system', 'stage')).toBe(false);
  });
});

test('objects that name their node themselves', () => {
  const graph = new NodeGraph();
  graph.setOwned('volumeattachment', 'a', 'n1');
  graph.setOwned('resourceslice', 'a', undefined);
  expect(graph.leadsTo('n1', 'volumeattachment', '', 'a')).toBe(true);
  expect(graph.leadsTo('n2', 'volumeattachment', '', 'a')).toBe(false);
  expect(graph.leadsTo('n1', 'resourceslice', '', 'a')).toBe(false);
  graph.setOwned('volumeattachment', 'a', undefined);
  expect(graph.leadsTo('n1', 'volumeattachment', '', 'a')).toBe(false);
});
