// The order of groups and versions in discovery, from upstream's tables
// (pkg/controlplane/apiserver/aggregator.go, cmd/kube-apiserver/app).

export interface Priority {
  readonly group: number;
  readonly version: number;
}

type Versions = Readonly<Record<string, number>>;

/** The priority of each group and of its versions. The highest comes first. */
const BUILT_IN: Readonly<Record<string, readonly [group: number, versions: Versions]>> = {
  // Higher than any priority of an APIService, because this group has no APIService.
  'apiregistration.k8s.io': [20_001, { v1: 0 }],
  '': [18_000, { v1: 1 }],
  apps: [17_800, { v1: 15 }],
  'events.k8s.io': [17_750, { v1: 15, v1beta1: 5 }],
  'authentication.k8s.io': [17_700, { v1: 15, v1beta1: 9, v1alpha1: 1 }],
  'authorization.k8s.io': [17_600, { v1: 15 }],
  autoscaling: [17_500, { v1: 15, v2: 30, v2beta1: 9, v2beta2: 1 }],
  batch: [17_400, { v1: 15, v1beta1: 9, v2alpha1: 9 }],
  'certificates.k8s.io': [17_300, { v1: 15, v1beta1: 9, v1alpha1: 9 }],
  'networking.k8s.io': [17_200, { v1: 15, v1beta1: 9 }],
  policy: [17_100, { v1: 15, v1beta1: 9 }],
  'rbac.authorization.k8s.io': [17_000, { v1: 15 }],
  'storage.k8s.io': [16_800, { v1: 15, v1beta1: 9, v1alpha1: 1 }],
  'apiextensions.k8s.io': [16_700, { v1: 15 }],
  'admissionregistration.k8s.io': [16_700, { v1: 15, v1beta1: 12, v1alpha1: 9 }],
  'scheduling.k8s.io': [16_600, { v1: 15, v1alpha2: 2 }],
  'coordination.k8s.io': [16_500, { v1: 15, v1beta1: 13, v1alpha2: 12 }],
  'node.k8s.io': [16_300, { v1: 15, v1beta1: 9, v1alpha1: 1 }],
  'discovery.k8s.io': [16_200, { v1: 15, v1beta1: 12 }],
  'resource.k8s.io': [16_200, { v1: 21, v1beta2: 15, v1beta1: 9, v1alpha3: 1 }],
  'flowcontrol.apiserver.k8s.io': [
    16_100,
    { v1: 21, v1beta3: 18, v1beta2: 15, v1beta1: 12, v1alpha1: 9 },
  ],
  'internal.apiserver.k8s.io': [16_000, { v1alpha1: 9 }],
  'storagemigration.k8s.io': [15_800, { v1beta1: 9 }],
};

/** The priority of group versions that definitions define. */
export const CUSTOM: Priority = { group: 1000, version: 100 };

/** Returns the priority of a built-in group version; undefined for other ones. */
export function builtInPriority(group: string, version: string): Priority | undefined {
  if (!Object.hasOwn(BUILT_IN, group)) return undefined;
  const [ofGroup, versions] = BUILT_IN[group]!;
  return Object.hasOwn(versions, version)
    ? { group: ofGroup, version: versions[version]! }
    : undefined;
}

/** Returns the priority of a group version that this server serves. */
export function localPriority(group: string, version: string): Priority {
  return builtInPriority(group, version) ?? CUSTOM;
}
