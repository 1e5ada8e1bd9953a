// The Scheme of everything that Coxswain knows: every group's kinds, with their defaults and conversions.

import {
  setMutatingAdmissionPolicyDefaults,
  setMutatingWebhookConfigurationDefaults,
  setPolicyBindingDefaults,
  setValidatingAdmissionPolicyDefaults,
  setValidatingWebhookConfigurationDefaults,
} from './groups/admissionregistration/v1/defaults.ts';
import { setAPIServiceDefaults } from './groups/apiregistration/v1/defaults.ts';
import {
  setDaemonSetDefaults,
  setDeploymentDefaults,
  setReplicaSetDefaults,
  setStatefulSetDefaults,
} from './groups/apps/v1/defaults.ts';
import { fromV1 as autoscalerFromV1, toV1 as autoscalerToV1 } from './groups/autoscaling/v1/conversion.ts';
import { setHorizontalPodAutoscalerDefaults as setFirstAutoscalerDefaults } from './groups/autoscaling/v1/defaults.ts';
import { setHorizontalPodAutoscalerDefaults } from './groups/autoscaling/v2/defaults.ts';
import { setCronJobDefaults, setJobDefaults } from './groups/batch/v1/defaults.ts';
import {
  setLimitRangeDefaults,
  setNamespaceDefaults,
  setNodeDefaults,
  setPersistentVolumeClaimDefaults,
  setPersistentVolumeDefaults,
  setPodDefaults,
  setPodTemplateObjectDefaults,
  setReplicationControllerDefaults,
  setResourceQuotaDefaults,
  setSecretDefaults,
  setEndpointsDefaults,
  setServiceDefaults,
} from './groups/core/v1/defaults.ts';
import type { GroupVersionKind } from './machinery/descriptor.ts';
import { fromCore, toCore } from './groups/events/v1/conversion.ts';
import { allSchemas } from './all-schemas.ts';
import { Scheme } from './machinery/scheme.ts';
import { setEndpointSliceDefaults } from './groups/discovery/v1/defaults.ts';
import { setFlowSchemaDefaults, setPriorityLevelConfigurationDefaults } from './groups/flowcontrol/v1/defaults.ts';
import { setIngressClassDefaults, setNetworkPolicyDefaults } from './groups/networking/v1/defaults.ts';
import { setResourceClaimDefaults, setResourceClaimTemplateDefaults } from './groups/resource/v1/defaults.ts';
import { setRoleBindingDefaults } from './groups/rbac/v1/defaults.ts';
import { setPriorityClassDefaults } from './groups/scheduling/v1/defaults.ts';
import { setCSIDriverDefaults, setStorageClassDefaults, setVolumeAttachmentDefaults } from './groups/storage/v1/defaults.ts';

/** A new Scheme; registering more in it changes no other. */
export function newDefaultScheme(): Scheme {
  const scheme = new Scheme(allSchemas);

  scheme.addDefaulter(core('LimitRange'), setLimitRangeDefaults);
  scheme.addDefaulter(core('Namespace'), setNamespaceDefaults);
  scheme.addDefaulter(core('Node'), setNodeDefaults);
  scheme.addDefaulter(core('PersistentVolume'), setPersistentVolumeDefaults);
  scheme.addDefaulter(core('PersistentVolumeClaim'), setPersistentVolumeClaimDefaults);
  scheme.addDefaulter(core('Endpoints'), setEndpointsDefaults);
  scheme.addDefaulter(core('Pod'), setPodDefaults);
  scheme.addDefaulter(core('PodTemplate'), setPodTemplateObjectDefaults);
  scheme.addDefaulter(core('ReplicationController'), setReplicationControllerDefaults);
  scheme.addDefaulter(core('ResourceQuota'), setResourceQuotaDefaults);
  scheme.addDefaulter(core('Secret'), setSecretDefaults);
  scheme.addDefaulter(core('Service'), setServiceDefaults);
  const apps = (kind: string): GroupVersionKind => ({ group: 'apps', version: 'v1', kind });
  scheme.addDefaulter(apps('DaemonSet'), setDaemonSetDefaults);
  scheme.addDefaulter(apps('Deployment'), setDeploymentDefaults);
  scheme.addDefaulter(apps('ReplicaSet'), setReplicaSetDefaults);
  scheme.addDefaulter(apps('StatefulSet'), setStatefulSetDefaults);
  const autoscaler = (version: string): GroupVersionKind => ({ group: 'autoscaling', version, kind: 'HorizontalPodAutoscaler' });
  scheme.addDefaulter(autoscaler('v1'), setFirstAutoscalerDefaults);
  scheme.addDefaulter(autoscaler('v2'), setHorizontalPodAutoscalerDefaults);
  scheme.addConversion(autoscaler('v1'), autoscaler('v2'), autoscalerFromV1);
  scheme.addConversion(autoscaler('v2'), autoscaler('v1'), autoscalerToV1);
  scheme.addDefaulter({ group: 'batch', version: 'v1', kind: 'CronJob' }, setCronJobDefaults);
  scheme.addDefaulter({ group: 'batch', version: 'v1', kind: 'Job' }, setJobDefaults);
  scheme.addDefaulter({ group: 'discovery.k8s.io', version: 'v1', kind: 'EndpointSlice' }, setEndpointSliceDefaults);
  const admission = (kind: string): GroupVersionKind => ({ group: 'admissionregistration.k8s.io', version: 'v1', kind });
  scheme.addDefaulter(admission('MutatingAdmissionPolicy'), setMutatingAdmissionPolicyDefaults);
  scheme.addDefaulter(admission('MutatingAdmissionPolicyBinding'), setPolicyBindingDefaults);
  scheme.addDefaulter(admission('MutatingWebhookConfiguration'), setMutatingWebhookConfigurationDefaults);
  scheme.addDefaulter(admission('ValidatingAdmissionPolicy'), setValidatingAdmissionPolicyDefaults);
  scheme.addDefaulter(admission('ValidatingAdmissionPolicyBinding'), setPolicyBindingDefaults);
  scheme.addDefaulter(admission('ValidatingWebhookConfiguration'), setValidatingWebhookConfigurationDefaults);
  scheme.addDefaulter({ group: 'apiregistration.k8s.io', version: 'v1', kind: 'APIService' }, setAPIServiceDefaults);
  const resource = (kind: string): GroupVersionKind => ({ group: 'resource.k8s.io', version: 'v1', kind });
  scheme.addDefaulter(resource('ResourceClaim'), setResourceClaimDefaults);
  scheme.addDefaulter(resource('ResourceClaimTemplate'), setResourceClaimTemplateDefaults);
  const flowcontrol = (kind: string): GroupVersionKind => ({ group: 'flowcontrol.apiserver.k8s.io', version: 'v1', kind });
  scheme.addDefaulter(flowcontrol('FlowSchema'), setFlowSchemaDefaults);
  scheme.addDefaulter(flowcontrol('PriorityLevelConfiguration'), setPriorityLevelConfigurationDefaults);
  const networking = (kind: string): GroupVersionKind => ({ group: 'networking.k8s.io', version: 'v1', kind });
  scheme.addDefaulter(networking('IngressClass'), setIngressClassDefaults);
  scheme.addDefaulter(networking('NetworkPolicy'), setNetworkPolicyDefaults);
  const rbac = (kind: string): GroupVersionKind => ({ group: 'rbac.authorization.k8s.io', version: 'v1', kind });
  scheme.addDefaulter(rbac('ClusterRoleBinding'), setRoleBindingDefaults);
  scheme.addDefaulter(rbac('RoleBinding'), setRoleBindingDefaults);
  scheme.addDefaulter({ group: 'scheduling.k8s.io', version: 'v1', kind: 'PriorityClass' }, setPriorityClassDefaults);
  const storage = (kind: string): GroupVersionKind => ({ group: 'storage.k8s.io', version: 'v1', kind });
  scheme.addDefaulter(storage('CSIDriver'), setCSIDriverDefaults);
  scheme.addDefaulter(storage('StorageClass'), setStorageClassDefaults);
  scheme.addDefaulter(storage('VolumeAttachment'), setVolumeAttachmentDefaults);

  const event = { group: 'events.k8s.io', version: 'v1', kind: 'Event' };
  scheme.addConversion(core('Event'), event, fromCore);
  scheme.addConversion(event, core('Event'), toCore);
  return scheme;
}

function core(kind: string): GroupVersionKind {
  return { group: '', version: 'v1', kind };
}
