// Drops pod fields of features that are off by default in Kubernetes, unless the object had them
// before. A field without an effect must not be stored.

import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type * as core from './types.ts';

type PodSpec = Immutable<core.PodSpec>;
type Hooked = Pick<Immutable<core.Container>, 'lifecycle'>;

const NO_CONTAINERS: readonly Hooked[] = [];
const allContainers = (spec: PodSpec): readonly Hooked[] => [
  ...spec.containers,
  ...(spec.initContainers ?? NO_CONTAINERS),
  ...(spec.ephemeralContainers ?? NO_CONTAINERS),
];
const hasStopSignal = (spec: PodSpec): boolean =>
  allContainers(spec).some(({ lifecycle }) => lifecycle?.stopSignal !== undefined);

/** Projections of the features ClusterTrustBundleProjection and PodCertificateRequest. */
const PROJECTIONS = ['clusterTrustBundle', 'podCertificate'] as const;
type Projection = (typeof PROJECTIONS)[number];

const hasProjection = ({ volumes = [] }: PodSpec, name: Projection): boolean =>
  volumes.some(({ projected }) =>
    (projected?.sources ?? []).some((source) => source[name] !== undefined),
  );

/**
 * Returns the spec of a pod or a template without disabled fields; the same object if there are
 * none. `old`: the stored spec.
 */
export function withoutDisabledPodFields(spec: PodSpec, old?: PodSpec): PodSpec {
  let result = spec;
  // The feature GenericWorkload.
  if (result.schedulingGroup !== undefined && old?.schedulingGroup === undefined) {
    const { schedulingGroup: _, ...rest } = result;
    result = rest;
  }
  // The feature ContainerStopSignals.
  if (hasStopSignal(result) && (old === undefined || !hasStopSignal(old)))
    result = withoutStopSignals(result);
  for (const name of PROJECTIONS) {
    if (hasProjection(result, name) && (old === undefined || !hasProjection(old, name)))
      result = withoutProjection(result, name);
  }
  return result;
}

function withoutStopSignals(spec: PodSpec): PodSpec {
  const { initContainers, ephemeralContainers } = spec;
  return {
    ...spec,
    containers: spec.containers.map(withoutStopSignal),
    ...(initContainers !== undefined && { initContainers: initContainers.map(withoutStopSignal) }),
    ...(ephemeralContainers !== undefined && {
      ephemeralContainers: ephemeralContainers.map(withoutStopSignal),
    }),
  };
}

function withoutStopSignal<T extends Hooked>(container: T): T {
  const { lifecycle, ...rest } = container;
  if (lifecycle?.stopSignal === undefined) return container;
  const { stopSignal: _, ...hooks } = lifecycle;
  return (Object.keys(hooks).length === 0 ? rest : { ...container, lifecycle: hooks }) as T;
}

function withoutProjection(spec: PodSpec, name: Projection): PodSpec {
  const volumes = (spec.volumes ?? []).map((volume) => {
    const { projected } = volume;
    if (projected?.sources === undefined || projected.sources === null) return volume;
    const sources = projected.sources.map((source) => {
      const { [name]: _, ...rest } = source;
      return rest;
    });
    return { ...volume, projected: { ...projected, sources } };
  });
  return { ...spec, volumes };
}

type PodStatus = Immutable<core.PodStatus>;
type ContainerStatus = Immutable<core.ContainerStatus>;

const STATUS_LISTS = [
  'containerStatuses',
  'initContainerStatuses',
  'ephemeralContainerStatuses',
] as const;

const hasVolumeStatus = ({ volumeMounts = [] }: ContainerStatus): boolean =>
  volumeMounts.some(({ volumeStatus }) => volumeStatus !== undefined);
const hasAnyVolumeStatus = (status: PodStatus): boolean =>
  STATUS_LISTS.some((name) => (status[name] ?? []).some((container) => hasVolumeStatus(container)));

/** Returns a pod's status without disabled fields; the same object if there are none. */
export function withoutDisabledStatusFields(status: PodStatus, old: PodStatus): PodStatus {
  let result = status;
  // The feature DRANodeAllocatableResources.
  if (
    result.nodeAllocatableResourceClaimStatuses !== undefined &&
    old.nodeAllocatableResourceClaimStatuses === undefined
  ) {
    const { nodeAllocatableResourceClaimStatuses: _, ...rest } = result;
    result = rest;
  }
  // The feature ImageVolumeWithDigest.
  if (!hasAnyVolumeStatus(result) || hasAnyVolumeStatus(old)) return result;
  const lists = STATUS_LISTS.flatMap((name) => {
    const list = result[name];
    return list === undefined
      ? []
      : [[name, list.map((container) => withoutVolumeStatus(container))] as const];
  });
  return { ...result, ...Object.fromEntries(lists) };
}

function withoutVolumeStatus(container: ContainerStatus): ContainerStatus {
  if (!hasVolumeStatus(container)) return container;
  const volumeMounts = (container.volumeMounts ?? []).map((mount) => {
    const { volumeStatus: _, ...rest } = mount;
    return rest;
  });
  return { ...container, volumeMounts };
}
