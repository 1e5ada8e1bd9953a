// The admission plugins of every API server, in order.

import {
  CertificateApproval,
  CertificateSigning,
  CertificateSubjectRestriction,
} from './certificates/index.ts';
import { DefaultIngressClass } from './default-ingress-class.ts';
import { DefaultStorageClass } from './default-storage-class.ts';
import { DefaultTolerationSeconds } from './default-toleration-seconds.ts';
import { LimitRanger } from './limit-ranger.ts';
import { NamespaceLifecycle } from './namespace-lifecycle.ts';
import { NodeDeclaredFeatureValidator } from './node-declared-feature-validator.ts';
import { NodeRestriction } from './node-restriction/index.ts';
import { AlwaysAdmit } from './optional/always-admit.ts';
import { AlwaysPullImages } from './optional/always-pull-images.ts';
import { DenyServiceExternalIPs } from './optional/deny-service-external-ips.ts';
import { EventRateLimit } from './optional/event-rate-limit.ts';
import { ExtendedResourceToleration } from './optional/extended-resource-toleration.ts';
import { ImagePolicyWebhook } from './optional/image-policy-webhook.ts';
import { LimitPodHardAntiAffinityTopology } from './optional/limit-pod-hard-anti-affinity-topology.ts';
import { NamespaceAutoProvision, NamespaceExists } from './optional/namespaces.ts';
import { OwnerReferencesPermissionEnforcement } from './optional/owner-references-permission-enforcement.ts';
import { PodNodeSelector } from './optional/pod-node-selector.ts';
import { PodTolerationRestriction } from './optional/pod-toleration-restriction.ts';
import { PersistentVolumeClaimResize } from './persistent-volume-claim-resize.ts';
import type { AdmissionPlugin } from './plugin.ts';
import { PodSecurity } from './pod-security/index.ts';
import { MutatingAdmissionPolicy } from './policy/mutating/index.ts';
import { ValidatingAdmissionPolicy } from './policy/validating/index.ts';
import { PodResizeValidator } from './pod-resize-validator.ts';
import { PodTopologyLabels } from './pod-topology-labels.ts';
import { Priority } from './priority/index.ts';
import { ResourceQuotaAdmission } from './resource-quota/index.ts';
import { RuntimeClassAdmission } from './runtime-class/index.ts';
import { ServiceAccount } from './service-account.ts';
import type { AdmissionServices } from './services.ts';
import { StorageObjectInUseProtection } from './storage-object-in-use-protection.ts';
import { TaintNodesByCondition } from './taint-nodes-by-condition.ts';
import { MutatingAdmissionWebhook, ValidatingAdmissionWebhook } from './webhook/index.ts';

/** The names of the server's plugins, in order. */
export const ADMISSION_PLUGIN_NAMES: readonly string[] = [
  'AlwaysAdmit',
  'NamespaceAutoProvision',
  'NamespaceLifecycle',
  'NamespaceExists',
  'LimitPodHardAntiAffinityTopology',
  'LimitRanger',
  'ServiceAccount',
  'Priority',
  'DefaultTolerationSeconds',
  'NodeRestriction',
  'TaintNodesByCondition',
  'AlwaysPullImages',
  'ImagePolicyWebhook',
  'PodSecurity',
  'PodNodeSelector',
  'PodTolerationRestriction',
  'EventRateLimit',
  'ExtendedResourceToleration',
  'DefaultStorageClass',
  'StorageObjectInUseProtection',
  'OwnerReferencesPermissionEnforcement',
  'PersistentVolumeClaimResize',
  'RuntimeClass',
  'CertificateApproval',
  'CertificateSigning',
  'CertificateSubjectRestriction',
  'DefaultIngressClass',
  'DenyServiceExternalIPs',
  'PodTopologyLabels',
  'NodeDeclaredFeatureValidator',
  'PodResizeValidator',
  'MutatingAdmissionPolicy',
  'MutatingAdmissionWebhook',
  'ValidatingAdmissionPolicy',
  'ValidatingAdmissionWebhook',
  'ResourceQuota',
];

/** The plugins that run only if the configuration enables them. */
const OPTIONAL_PLUGIN_NAMES: ReadonlySet<string> = new Set([
  'AlwaysAdmit',
  'AlwaysPullImages',
  'DenyServiceExternalIPs',
  'EventRateLimit',
  'ExtendedResourceToleration',
  'ImagePolicyWebhook',
  'LimitPodHardAntiAffinityTopology',
  'NamespaceAutoProvision',
  'NamespaceExists',
  'OwnerReferencesPermissionEnforcement',
  'PodNodeSelector',
  'PodTolerationRestriction',
]);

/** The names of plugins to run beside the default ones, and of plugins to leave out. */
export interface AdmissionChoice {
  readonly enabled?: readonly string[];
  readonly disabled?: readonly string[];
}

/** A name in the lists of enabled and disabled plugins that is not a plugin of the server. */
export class UnknownAdmissionPluginError extends Error {
  constructor(name: string) {
    super(`admission plugin ${JSON.stringify(name)} is unknown`);
    this.name = 'UnknownAdmissionPluginError';
  }
}

/** Returns the server's plugins that run, in order. Throws UnknownAdmissionPluginError. */
export function admissionPlugins(
  services: AdmissionServices,
  { enabled = [], disabled = [] }: AdmissionChoice,
): readonly AdmissionPlugin[] {
  const { plugins = {} } = services;
  const all: readonly AdmissionPlugin[] = [
    new AlwaysAdmit(),
    new NamespaceAutoProvision(services),
    new NamespaceLifecycle(services),
    new NamespaceExists(services),
    new LimitPodHardAntiAffinityTopology(),
    new LimitRanger(services),
    new ServiceAccount(services),
    new Priority(services),
    new DefaultTolerationSeconds(services.defaultTolerationSeconds),
    new NodeRestriction(services),
    new TaintNodesByCondition(),
    new AlwaysPullImages(),
    new ImagePolicyWebhook(services, plugins.imagePolicy),
    new PodSecurity(services),
    new PodNodeSelector(services, plugins.nodeSelectors),
    new PodTolerationRestriction(services, plugins.tolerations),
    new EventRateLimit(services, plugins.eventLimits),
    new ExtendedResourceToleration(),
    new DefaultStorageClass(services),
    new StorageObjectInUseProtection(),
    new OwnerReferencesPermissionEnforcement(services),
    new PersistentVolumeClaimResize(services),
    new RuntimeClassAdmission(services),
    new CertificateApproval(services.authorizer),
    new CertificateSigning(services.authorizer),
    new CertificateSubjectRestriction(),
    new DefaultIngressClass(services),
    new DenyServiceExternalIPs(),
    new PodTopologyLabels(services),
    new NodeDeclaredFeatureValidator(services),
    new PodResizeValidator(services),
    new MutatingAdmissionPolicy(services),
    new MutatingAdmissionWebhook(services),
    new ValidatingAdmissionPolicy(services),
    new ValidatingAdmissionWebhook(services),
    // Quotas come last, so that a request that another plugin rejects is not charged.
    new ResourceQuotaAdmission(services),
  ];
  const unknown = [...enabled, ...disabled].find((name) => !ADMISSION_PLUGIN_NAMES.includes(name));
  if (unknown !== undefined) throw new UnknownAdmissionPluginError(unknown);
  return all.filter(
    ({ name }) =>
      !disabled.includes(name) && (!OPTIONAL_PLUGIN_NAMES.has(name) || enabled.includes(name)),
  );
}
