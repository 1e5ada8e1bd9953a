// Every resource that the API server serves. To add one: write its folder, and add it here.

import { admissionRegistrationResources } from './admissionregistration/index.ts';
import { apiServiceResource } from './apiregistration/api-service.ts';
import { identityReviewResources } from './authentication/identity-reviews.ts';
import { accessReviewResources } from './authorization/access-reviews.ts';
import { horizontalPodAutoscalerResources } from './autoscaling/horizontal-pod-autoscaler/index.ts';
import { certificateSigningRequestResource } from './certificates/certificate-signing-request/index.ts';
import { componentStatusResource } from './core/component-status.ts';
import { configMapResource } from './core/config-map/index.ts';
import { endpointsResource } from './core/endpoints.ts';
import { eventResources } from './core/event/index.ts';
import { limitRangeResource } from './core/limit-range.ts';
import { namespaceResource } from './core/namespace/index.ts';
import { nodeResource } from './core/node/index.ts';
import { persistentVolumeClaimResource } from './core/persistent-volume-claim/index.ts';
import { persistentVolumeResource } from './core/persistent-volume.ts';
import { podTemplateResource } from './core/pod-template.ts';
import { podResources } from './core/pod/index.ts';
import { replicationControllerResource } from './core/replication-controller.ts';
import { resourceQuotaResource } from './core/resource-quota.ts';
import { secretResource } from './core/secret.ts';
import { serviceAccountResource } from './core/service-account/index.ts';
import { serviceResource } from './core/service/index.ts';
import { endpointSliceResource } from './discovery/endpoint-slice.ts';
import { flowControlResources } from './flowcontrol/index.ts';
import { networkingResources } from './networking/index.ts';
import { runtimeClassResource } from './node/runtime-class.ts';
import { podDisruptionBudgetResource, podDisruptionBudgetStore } from './policy/pod-disruption-budget/index.ts';
import { rbacResources } from './rbac/index.ts';
import { deviceResources } from './resource/index.ts';
import { priorityClassResource } from './scheduling/priority-class.ts';
import { leaseResource } from './coordination/lease.ts';
import { controllerRevisionResource } from './apps/controller-revision/index.ts';
import { daemonSetResource } from './apps/daemon-set/index.ts';
import { deploymentResource } from './apps/deployment/index.ts';
import { replicaSetResource } from './apps/replica-set/index.ts';
import { statefulSetResource } from './apps/stateful-set/index.ts';
import { cronJobResource } from './batch/cron-job/index.ts';
import { jobResource } from './batch/job/index.ts';
import { storageResources } from './storage/index.ts';
import { storageVersionMigrationResource } from './storagemigration/storage-version-migration/index.ts';
import type { Kind } from '../catalog/kind.ts';
import type { RegistryServices } from './services.ts';

export function buildRegistry(services: RegistryServices): readonly Kind[] {
  const budgets = podDisruptionBudgetStore(services);
  return [
    componentStatusResource(services),
    configMapResource(services),
    certificateSigningRequestResource(services),
    ...horizontalPodAutoscalerResources(services),
    endpointsResource(services),
    ...eventResources(services),
    limitRangeResource(services),
    namespaceResource(services),
    nodeResource(services),
    persistentVolumeClaimResource(services),
    persistentVolumeResource(services),
    ...podResources(services, budgets),
    podTemplateResource(services),
    replicationControllerResource(services),
    resourceQuotaResource(services),
    secretResource(services),
    serviceAccountResource(services),
    serviceResource(services),
    controllerRevisionResource(services),
    daemonSetResource(services),
    deploymentResource(services),
    replicaSetResource(services),
    statefulSetResource(services),
    cronJobResource(services),
    jobResource(services),
    leaseResource(services),
    endpointSliceResource(services),
    ...networkingResources(services),
    runtimeClassResource(services),
    podDisruptionBudgetResource(budgets),
    ...rbacResources(services),
    priorityClassResource(services),
    ...storageResources(services),
    ...admissionRegistrationResources(services),
    apiServiceResource(services),
    ...deviceResources(services),
    ...flowControlResources(services),
    storageVersionMigrationResource(services),
    ...accessReviewResources(services),
    ...identityReviewResources(services),
  ];
}
