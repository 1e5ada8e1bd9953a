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
import { NodeRestriction } from './node-restriction/index.ts';
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
  'NamespaceLifecycle',
  'LimitRanger',
  'ServiceAccount',
  'Priority',
  'DefaultTolerationSeconds',
  'NodeRestriction',
  'TaintNodesByCondition',
  'PodSecurity',
  'DefaultStorageClass',
  'StorageObjectInUseProtection',
  'PersistentVolumeClaimResize',
  'RuntimeClass',
  'CertificateApproval',
  'CertificateSigning',
  'CertificateSubjectRestriction',
  'DefaultIngressClass',
  'PodTopologyLabels',
  'PodResizeValidator',
  'MutatingAdmissionPolicy',
  'MutatingAdmissionWebhook',
  'ValidatingAdmissionPolicy',
  'ValidatingAdmissionWebhook',
  'ResourceQuota',
];

/** A name in the list of disabled plugins that is not a plugin of the server. */
export class UnknownAdmissionPluginError extends Error {
  constructor(name: string) {
    super(`admission plugin ${JSON.stringify(name)} is unknown`);
    this.name = 'UnknownAdmissionPluginError';
  }
}

/** Returns the server's plugins without the disabled ones. Throws UnknownAdmissionPluginError. */
export function defaultAdmissionPlugins(
  services: AdmissionServices,
  disabled: readonly string[],
): readonly AdmissionPlugin[] {
  const plugins: readonly AdmissionPlugin[] = [
    new NamespaceLifecycle(services),
    new LimitRanger(services),
    new ServiceAccount(services),
    new Priority(services),
    new DefaultTolerationSeconds(services.defaultTolerationSeconds),
    new NodeRestriction(services),
    new TaintNodesByCondition(),
    new PodSecurity(services),
    new DefaultStorageClass(services),
    new StorageObjectInUseProtection(),
    new PersistentVolumeClaimResize(services),
    new RuntimeClassAdmission(services),
    new CertificateApproval(services.authorizer),
    new CertificateSigning(services.authorizer),
    new CertificateSubjectRestriction(),
    new DefaultIngressClass(services),
    new PodTopologyLabels(services),
    new PodResizeValidator(services),
    new MutatingAdmissionPolicy(services),
    new MutatingAdmissionWebhook(services),
    new ValidatingAdmissionPolicy(services),
    new ValidatingAdmissionWebhook(services),
    // Quotas come last, so that a request that another plugin rejects is not charged.
    new ResourceQuotaAdmission(services),
  ];
  const unknown = disabled.find((name) => !ADMISSION_PLUGIN_NAMES.includes(name));
  if (unknown !== undefined) throw new UnknownAdmissionPluginError(unknown);
  return plugins.filter((plugin) => !disabled.includes(plugin.name));
}
