import { expect, test } from 'vitest';
import { allSchemas } from '#api/all-schemas.ts';
import { storagePrefix } from './storage-prefix.ts';

test.each([
  ['', 'pods', '/registry/pods/'],
  ['', 'services', '/registry/services/specs/'],
  ['', 'endpoints', '/registry/services/endpoints/'],
  ['', 'nodes', '/registry/minions/'],
  ['', 'replicationcontrollers', '/registry/controllers/'],
  ['apps', 'deployments', '/registry/deployments/'],
  ['coordination.k8s.io', 'leases', '/registry/leases/'],
  ['networking.k8s.io', 'ingresses', '/registry/ingress/'],
  ['networking.k8s.io', 'ingressclasses', '/registry/ingressclasses/'],
  ['example.com', 'widgets', '/registry/example.com/widgets/'],
])('%s %s', (group, resource, prefix) => {
  expect(storagePrefix({ group, resource })).toBe(prefix);
});

test('separates all resources, except the events of two groups', () => {
  const owners = new Map<string, string>();
  for (const { group, resource } of allSchemas.resources()) {
    const prefix = storagePrefix({ group, resource });
    const name = resource === 'events' ? resource : `${resource}.${group}`;
    for (const [other, owner] of owners) {
      if (owner !== name)
        expect(prefix.startsWith(other) || other.startsWith(prefix), `${name} and ${owner}`).toBe(
          false,
        );
    }
    owners.set(prefix, name);
  }
});
