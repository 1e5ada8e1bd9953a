// Every resource that the API server serves. To add one: write its folder, and add it here.

import { identityReviewResources } from './authentication/identity-reviews.ts';
import { accessReviewResources } from './authorization/access-reviews.ts';
import { configMapResource } from './core/config-map/index.ts';
import { eventResource } from './core/event/index.ts';
import { namespaceResource } from './core/namespace/index.ts';
import { nodeResource } from './core/node/index.ts';
import { podResources } from './core/pod/index.ts';
import { replicationControllerResource } from './core/replication-controller/index.ts';
import { secretResource } from './core/secret/index.ts';
import { serviceAccountResource } from './core/service-account/index.ts';
import { serviceResource } from './core/service/index.ts';
import { leaseResource } from './coordination/lease/index.ts';
import { replicaSetResource } from './apps/replica-set/index.ts';
import type { ServedResource } from './rest.ts';
import type { RegistryServices } from './services.ts';

export function buildRegistry(services: RegistryServices): readonly ServedResource[] {
  return [
    configMapResource(services),
    eventResource(services),
    namespaceResource(services),
    nodeResource(services),
    ...podResources(services),
    replicationControllerResource(services),
    secretResource(services),
    serviceAccountResource(services),
    serviceResource(services),
    replicaSetResource(services),
    leaseResource(services),
    ...accessReviewResources(services),
    ...identityReviewResources(services),
  ];
}
