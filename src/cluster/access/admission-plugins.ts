// The admission plugins of Kubernetes 1.36, by the names that --enable-admission-plugins and
// --disable-admission-plugins take.

import { UserError } from '../user-error.ts';

/** In the order of their execution. `true`: on by default upstream. */
const PLUGINS: ReadonlyMap<string, boolean> = new Map([
  ['AlwaysAdmit', false],
  ['NamespaceAutoProvision', false],
  ['NamespaceLifecycle', true],
  ['NamespaceExists', false],
  ['LimitPodHardAntiAffinityTopology', false],
  ['LimitRanger', true],
  ['ServiceAccount', true],
  ['NodeRestriction', false],
  ['TaintNodesByCondition', true],
  ['AlwaysPullImages', false],
  ['ImagePolicyWebhook', false],
  ['PodSecurity', true],
  ['PodNodeSelector', false],
  ['Priority', true],
  ['DefaultTolerationSeconds', true],
  ['PodTolerationRestriction', false],
  ['EventRateLimit', false],
  ['ExtendedResourceToleration', false],
  ['DefaultStorageClass', true],
  ['StorageObjectInUseProtection', true],
  ['PodGroupProtection', true],
  ['OwnerReferencesPermissionEnforcement', false],
  ['PersistentVolumeClaimResize', true],
  ['RuntimeClass', true],
  ['CertificateApproval', true],
  ['CertificateSigning', true],
  ['ClusterTrustBundleAttest', true],
  ['CertificateSubjectRestriction', true],
  ['DefaultIngressClass', true],
  ['DenyServiceExternalIPs', false],
  ['PodTopologyLabels', true],
  ['PodGroupWorkloadExists', true],
  ['NodeDeclaredFeatureValidator', true],
  ['JobValidation', true],
  ['PodResizeValidator', true],
  ['MutatingAdmissionPolicy', true],
  ['MutatingAdmissionWebhook', true],
  ['ValidatingAdmissionPolicy', true],
  ['ValidatingAdmissionWebhook', true],
  ['ResourceQuota', true],
  ['AlwaysDeny', false],
]);

export interface AdmissionSelection {
  /** Built-in plugins that run beside the default ones. */
  readonly enabled: readonly string[];
  /** Built-in plugins that are left out. */
  readonly disabled: readonly string[];
  readonly warnings: readonly string[];
}

/**
 * Returns what the two flags ask for. Throws UserError for plugins that do not exist, that are in
 * both lists, and for plugins that enforce something and are not built in: a server without them
 * would admit what it was asked to reject.
 */
export function selectAdmissionPlugins(
  enable: readonly string[],
  disable: readonly string[],
  builtIn: ReadonlySet<string>,
): AdmissionSelection {
  const warnings: string[] = [];
  for (const [flag, names] of [
    ['--enable-admission-plugins', enable],
    ['--disable-admission-plugins', disable],
  ] as const) {
    const unknown = names.find((name) => !PLUGINS.has(name));
    if (unknown !== undefined)
      throw new UserError(`${flag}: admission plugin ${JSON.stringify(unknown)} is unknown`);
  }
  for (const name of enable) {
    if (disable.includes(name))
      throw new UserError(`admission plugin ${name} is both enabled and disabled`);
    if (builtIn.has(name)) continue;
    if (PLUGINS.get(name) === true) {
      warnings.push(
        `--enable-admission-plugins: ${name} is not built in: what it would do is not done`,
      );
    } else throw new UserError(`--enable-admission-plugins: ${name} is not built in`);
  }
  const isBuiltIn = (name: string): boolean => builtIn.has(name);
  return { enabled: enable.filter(isBuiltIn), disabled: disable.filter(isBuiltIn), warnings };
}
