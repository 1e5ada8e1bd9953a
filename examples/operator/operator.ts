// An operator: each Tenant gets a namespace of its name with a quota. Deleting the Tenant deletes
// both.

import { namespaces, resourceQuotas } from 'coxswain/api/core/v1';
import type { KubeObject } from 'coxswain/api/meta/v1';
import { defineResource } from 'coxswain/client';
import { defineController, ownerReference } from 'coxswain/controller';

export interface Tenant extends KubeObject {
  readonly spec: { readonly pods: number };
  readonly status?: { readonly ready?: boolean };
}

export const tenants = defineResource<Tenant>({
  group: 'example.com',
  version: 'v1',
  kind: 'Tenant',
  resource: 'tenants',
  namespaced: false,
});

const manager = { fieldManager: 'tenant-operator' };

export const tenantOperator = defineController(
  'tenant-operator',
  ({ client, for: reconciles, owns, recorder }) => {
    const all = reconciles(tenants);
    owns(namespaces);
    owns(resourceQuotas);
    return async ({ name }) => {
      const tenant = all.lister.get('', name);
      // The garbage collector deletes what a deleted tenant owned.
      if (tenant === undefined || tenant.metadata.deletionTimestamp !== undefined) return;
      const ownerReferences = [ownerReference(tenant, tenants)];
      await client.resource(namespaces).apply({ metadata: { name, ownerReferences } }, manager);
      const quota = {
        metadata: { name: 'tenant', ownerReferences },
        spec: { hard: { pods: String(tenant.spec.pods) } },
      };
      await client.resource(resourceQuotas).namespace(name).apply(quota, manager);
      if (tenant.status?.ready === true) return;
      await client
        .resource(tenants)
        .apply(
          { metadata: { name }, status: { ready: true } },
          { ...manager, subresource: 'status' },
        );
      const subject = { apiVersion: 'example.com/v1', kind: 'Tenant', metadata: tenant.metadata };
      recorder.event(subject, 'Normal', 'Ready', `Namespace ${name} is ready`);
    };
  },
);
