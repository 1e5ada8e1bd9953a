// Kinds by category, in the order of the navigation. Kinds that are not named here are custom ones,
// or those of other API servers, and are shown by their group.

import { type ResourceType, typeId } from '../server/resource-type.ts';

export interface Category {
  readonly title: string;
  readonly types: readonly ResourceType[];
}

const CATEGORIES: readonly (readonly [title: string, ids: readonly string[]])[] = [
  [
    'Workloads',
    [
      'pods',
      'deployments.apps',
      'statefulsets.apps',
      'daemonsets.apps',
      'replicasets.apps',
      'jobs.batch',
      'cronjobs.batch',
      'replicationcontrollers',
      'horizontalpodautoscalers.autoscaling',
      'poddisruptionbudgets.policy',
    ],
  ],
  [
    'Network',
    [
      'services',
      'endpointslices.discovery.k8s.io',
      'endpoints',
      'ingresses.networking.k8s.io',
      'ingressclasses.networking.k8s.io',
      'networkpolicies.networking.k8s.io',
      'ipaddresses.networking.k8s.io',
      'servicecidrs.networking.k8s.io',
    ],
  ],
  [
    'Configuration',
    [
      'configmaps',
      'secrets',
      'resourcequotas',
      'limitranges',
      'priorityclasses.scheduling.k8s.io',
      'runtimeclasses.node.k8s.io',
      'podtemplates',
      'controllerrevisions.apps',
    ],
  ],
  [
    'Storage',
    [
      'persistentvolumeclaims',
      'persistentvolumes',
      'storageclasses.storage.k8s.io',
      'volumeattributesclasses.storage.k8s.io',
      'volumeattachments.storage.k8s.io',
      'csidrivers.storage.k8s.io',
      'csinodes.storage.k8s.io',
      'csistoragecapacities.storage.k8s.io',
    ],
  ],
  [
    'Access',
    [
      'serviceaccounts',
      'roles.rbac.authorization.k8s.io',
      'rolebindings.rbac.authorization.k8s.io',
      'clusterroles.rbac.authorization.k8s.io',
      'clusterrolebindings.rbac.authorization.k8s.io',
      'certificatesigningrequests.certificates.k8s.io',
    ],
  ],
  [
    'Cluster',
    [
      'nodes',
      'namespaces',
      'events.events.k8s.io',
      'leases.coordination.k8s.io',
      'customresourcedefinitions.apiextensions.k8s.io',
      'apiservices.apiregistration.k8s.io',
      'mutatingwebhookconfigurations.admissionregistration.k8s.io',
      'validatingwebhookconfigurations.admissionregistration.k8s.io',
      'validatingadmissionpolicies.admissionregistration.k8s.io',
      'validatingadmissionpolicybindings.admissionregistration.k8s.io',
      'mutatingadmissionpolicies.admissionregistration.k8s.io',
      'mutatingadmissionpolicybindings.admissionregistration.k8s.io',
      'flowschemas.flowcontrol.apiserver.k8s.io',
      'prioritylevelconfigurations.flowcontrol.apiserver.k8s.io',
      'deviceclasses.resource.k8s.io',
      'resourceclaims.resource.k8s.io',
      'resourceclaimtemplates.resource.k8s.io',
      'resourceslices.resource.k8s.io',
    ],
  ],
];

/** Kinds that are shown elsewhere, or that are the same objects as another kind. */
const HIDDEN: ReadonlySet<string> = new Set([
  'events',
  'componentstatuses',
  'pods.metrics.k8s.io',
  'nodes.metrics.k8s.io',
]);

/** Returns the categories with the types that can be listed, without empty categories. */
export function categorize(types: readonly ResourceType[]): readonly Category[] {
  const listable = new Map(
    types
      .filter(({ verbs }) => verbs.includes('list'))
      .map((type) => [typeId(type), type] as const)
      .filter(([id]) => !HIDDEN.has(id)),
  );
  const categories: Category[] = CATEGORIES.map(([title, ids]) => ({
    title,
    types: ids.flatMap((id) => {
      const type = listable.get(id);
      listable.delete(id);
      return type === undefined ? [] : [type];
    }),
  }));
  const others = new Map<string, ResourceType[]>();
  for (const type of listable.values())
    others.set(type.group, [...(others.get(type.group) ?? []), type]);
  for (const group of [...others.keys()].sort()) {
    const inGroup = others.get(group) ?? [];
    categories.push({
      title: group === '' ? 'Other' : group,
      types: inGroup.toSorted((a, b) => (a.kind < b.kind ? -1 : 1)),
    });
  }
  return categories.filter(({ types }) => types.length > 0);
}

/** Returns a title for a list of the kind: 'Pods', 'Network Policies'. */
export function pluralTitle({ kind, resource }: ResourceType): string {
  const words = kind.replaceAll(/([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])/g, '$1$3 $2$4');
  // The resource is the lower-case plural of the kind: take its ending, and the kind's letters.
  const plain = kind.toLowerCase();
  if (resource === plain) return words;
  if (resource.startsWith(plain)) return words + resource.slice(plain.length);
  if (plain.endsWith('y') && resource === `${plain.slice(0, -1)}ies`)
    return `${words.slice(0, -1)}ies`;
  return words;
}
