// Every built-in kind of the API server. To add one, write its file, and add it here
// (docs/adding-a-kind.md).

import type { KindDefinition } from '../catalog/define-kind.ts';
import type { FindKind, Kind } from '../catalog/kind.ts';
import { mutatingAdmissionPolicyBindingKind } from './admissionregistration/mutating-admission-policy-binding.ts';
import { mutatingAdmissionPolicyKind } from './admissionregistration/mutating-admission-policy.ts';
import { validatingAdmissionPolicyBindingKind } from './admissionregistration/validating-admission-policy-binding.ts';
import { validatingAdmissionPolicyKind } from './admissionregistration/validating-admission-policy.ts';
import {
  mutatingWebhookConfigurationKind,
  validatingWebhookConfigurationKind,
} from './admissionregistration/webhook-configurations.ts';
import { customResourceDefinitionKind } from './apiextensions/custom-resource-definition.ts';
import { apiServiceKind } from './apiregistration/api-service.ts';
import { controllerRevisionKind } from './apps/controller-revision.ts';
import { daemonSetKind } from './apps/daemon-set/index.ts';
import { deploymentKind } from './apps/deployment.ts';
import { replicaSetKind } from './apps/replica-set.ts';
import { statefulSetKind } from './apps/stateful-set.ts';
import { selfSubjectReviewKind, tokenReviewKind } from './authentication/identity-reviews.ts';
import {
  selfSubjectAccessReviewKind,
  selfSubjectRulesReviewKind,
  subjectAccessReviewKind,
  localSubjectAccessReviewKind,
} from './authorization/access-reviews.ts';
import {
  horizontalPodAutoscalerKind,
  horizontalPodAutoscalerV1Kind,
} from './autoscaling/horizontal-pod-autoscaler/index.ts';
import { cronJobKind } from './batch/cron-job.ts';
import { jobKind } from './batch/job/index.ts';
import { certificateSigningRequestKind } from './certificates/certificate-signing-request.ts';
import { leaseKind } from './coordination/lease.ts';
import { componentStatusKind } from './core/component-status.ts';
import { configMapKind } from './core/config-map.ts';
import { endpointsKind } from './core/endpoints.ts';
import { eventKind, newerEventKind } from './core/event/index.ts';
import { limitRangeKind } from './core/limit-range.ts';
import { namespaceKind } from './core/namespace.ts';
import { nodeKind } from './core/node.ts';
import { persistentVolumeClaimKind } from './core/persistent-volume-claim/index.ts';
import { persistentVolumeKind } from './core/persistent-volume.ts';
import { podTemplateKind } from './core/pod-template.ts';
import { podKinds } from './core/pod/index.ts';
import { replicationControllerKind } from './core/replication-controller.ts';
import { resourceQuotaKind } from './core/resource-quota.ts';
import { secretKind } from './core/secret.ts';
import { serviceAccountKind } from './core/service-account/index.ts';
import { serviceKind } from './core/service/index.ts';
import { endpointSliceKind } from './discovery/endpoint-slice.ts';
import { flowControlKinds } from './flowcontrol/dangling.ts';
import { nodeMetricsKind } from './metrics/node-metrics.ts';
import { podMetricsKind } from './metrics/pod-metrics.ts';
import { ingressClassKind } from './networking/ingress-class.ts';
import { ingressKind } from './networking/ingress.ts';
import { ipAddressKind } from './networking/ip-address.ts';
import { networkPolicyKind } from './networking/network-policy.ts';
import { serviceCidrKind } from './networking/service-cidr.ts';
import { runtimeClassKind } from './node/runtime-class.ts';
import { podDisruptionBudgetKind } from './policy/pod-disruption-budget/index.ts';
import { clusterRoleBindingKind } from './rbac/cluster-role-binding.ts';
import { clusterRoleKind } from './rbac/cluster-role.ts';
import { roleBindingKind } from './rbac/role-binding.ts';
import { roleKind } from './rbac/role.ts';
import { betaDeviceClassKinds, deviceClassKind } from './resource/device-class.ts';
import {
  betaResourceClaimTemplateKinds,
  resourceClaimTemplateKind,
} from './resource/resource-claim-template.ts';
import { betaResourceClaimKinds, resourceClaimKind } from './resource/resource-claim.ts';
import { betaResourceSliceKinds, resourceSliceKind } from './resource/resource-slice.ts';
import { priorityClassKind } from './scheduling/priority-class.ts';
import { csiDriverKind } from './storage/csi-driver.ts';
import { csiNodeKind } from './storage/csi-node.ts';
import { csiStorageCapacityKind } from './storage/csi-storage-capacity.ts';
import { storageClassKind } from './storage/storage-class.ts';
import { volumeAttachmentKind } from './storage/volume-attachment.ts';
import { volumeAttributesClassKind } from './storage/volume-attributes-class.ts';
import { storageVersionMigrationKind } from './storagemigration/storage-version-migration.ts';
import type { KindServices, RegistryServices } from './services.ts';

/** The kinds in the order of discovery. */
export const kinds: readonly KindDefinition<KindServices>[] = [
  componentStatusKind,
  configMapKind,
  certificateSigningRequestKind,
  horizontalPodAutoscalerKind,
  horizontalPodAutoscalerV1Kind,
  endpointsKind,
  eventKind,
  newerEventKind,
  limitRangeKind,
  namespaceKind,
  nodeKind,
  persistentVolumeClaimKind,
  persistentVolumeKind,
  podKinds,
  podTemplateKind,
  replicationControllerKind,
  resourceQuotaKind,
  secretKind,
  serviceAccountKind,
  serviceKind,
  controllerRevisionKind,
  daemonSetKind,
  deploymentKind,
  replicaSetKind,
  statefulSetKind,
  cronJobKind,
  jobKind,
  leaseKind,
  endpointSliceKind,
  ingressClassKind,
  ingressKind,
  ipAddressKind,
  networkPolicyKind,
  serviceCidrKind,
  runtimeClassKind,
  podDisruptionBudgetKind,
  clusterRoleBindingKind,
  clusterRoleKind,
  roleBindingKind,
  roleKind,
  priorityClassKind,
  csiDriverKind,
  csiNodeKind,
  csiStorageCapacityKind,
  storageClassKind,
  volumeAttachmentKind,
  volumeAttributesClassKind,
  mutatingAdmissionPolicyBindingKind,
  mutatingAdmissionPolicyKind,
  mutatingWebhookConfigurationKind,
  validatingAdmissionPolicyBindingKind,
  validatingAdmissionPolicyKind,
  validatingWebhookConfigurationKind,
  customResourceDefinitionKind,
  apiServiceKind,
  deviceClassKind,
  resourceClaimKind,
  resourceClaimTemplateKind,
  resourceSliceKind,
  ...betaDeviceClassKinds,
  ...betaResourceClaimKinds,
  ...betaResourceClaimTemplateKinds,
  ...betaResourceSliceKinds,
  flowControlKinds,
  storageVersionMigrationKind,
  nodeMetricsKind,
  podMetricsKind,
  selfSubjectAccessReviewKind,
  selfSubjectRulesReviewKind,
  subjectAccessReviewKind,
  localSubjectAccessReviewKind,
  selfSubjectReviewKind,
  tokenReviewKind,
];

/** Returns the kinds of one server, in the order of the list. */
export function buildRegistry(services: RegistryServices): readonly Kind[] {
  const built: Kind[] = [];
  const findKind: FindKind = (group, resource) =>
    built.find(({ type }) => type.group === group && type.resource === resource);
  for (const kind of kinds) built.push(...kind.build({ ...services, findKind }));
  return built;
}
