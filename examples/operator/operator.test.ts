import { readFileSync } from 'node:fs';
import { customResourceDefinitions } from 'coxswain/api/apiextensions/v1';
import { events, namespaces, resourceQuotas } from 'coxswain/api/core/v1';
import { errors } from 'coxswain/client';
import { withCluster } from 'coxswain/testing';
import { describe, expect, test } from 'vitest';
import { tenantOperator, tenants } from './operator.ts';

const definition = readFileSync(new URL('tenants.yaml', import.meta.url), 'utf8');
const tenant = (pods: number) => ({
  apiVersion: 'example.com/v1',
  kind: 'Tenant',
  metadata: { name: 'blue' },
  spec: { pods },
});

describe('the tenant operator', () => {
  test('makes a namespace with a quota, keeps it so, and cleans up', async () => {
    await withCluster({ clock: 'virtual' }, async (cluster) => {
      await cluster.apply(definition);
      await cluster.waitFor(customResourceDefinitions, 'tenants.example.com', 'Established');
      cluster.runController(tenantOperator);

      await cluster.apply(tenant(5));
      await cluster.waitFor(tenants, 'blue', ({ status }) => status?.ready === true);
      const inBlue = { namespace: 'blue' };
      expect((await cluster.get(resourceQuotas, 'tenant', inBlue)).spec.hard).toEqual({
        pods: '5',
      });
      await cluster.clock.advance('1s');
      expect((await cluster.list(events)).map(({ reason }) => reason)).toContain('Ready');

      await cluster.apply(tenant(7));
      await cluster.waitFor(
        resourceQuotas,
        'tenant',
        ({ spec }) => spec.hard?.['pods'] === '7',
        inBlue,
      );

      const { uid } = (await cluster.get(resourceQuotas, 'tenant', inBlue)).metadata;
      await cluster.delete(resourceQuotas, 'tenant', inBlue);
      await cluster.waitFor(
        resourceQuotas,
        'tenant',
        ({ metadata }) => metadata.uid !== uid,
        inBlue,
      );

      await cluster.delete(tenants, 'blue');
      await cluster.waitFor(namespaces, 'blue', 'deleted');
    });
  });

  test('relies on validation by the definition', async () => {
    await withCluster({ clock: 'virtual' }, async (cluster) => {
      await cluster.apply(definition);
      await cluster.waitFor(customResourceDefinitions, 'tenants.example.com', 'Established');
      await expect(cluster.apply(tenant(-1))).rejects.toSatisfy(errors.isInvalid);
    });
  });
});
