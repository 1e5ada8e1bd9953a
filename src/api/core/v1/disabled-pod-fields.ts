// Fields of pods that belong to features which Kubernetes has, but has not turned on: what is written there is dropped, unless
// it was there before. So nobody relies on what nobody acts on.

import type { Immutable } from '../../meta/v1/index.ts';
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
const hasTrustBundle = ({ volumes = [] }: PodSpec): boolean =>
  volumes.some(({ projected }) => (projected?.sources ?? []).some(({ clusterTrustBundle }) => clusterTrustBundle !== undefined));

/** Of a pod, or of a template of one. Answers the same spec if there is nothing to drop. `old`: as it is stored. */
export function withoutDisabledPodFields(spec: PodSpec, old?: PodSpec): PodSpec {
  let result = spec;
  // GenericWorkload
  if (result.schedulingGroup !== undefined && old?.schedulingGroup === undefined) {
    const { schedulingGroup: _, ...rest } = result;
    result = rest;
  }
  // ContainerStopSignals
  if (hasStopSignal(result) && (old === undefined || !hasStopSignal(old))) result = withoutStopSignals(result);
  // ClusterTrustBundleProjection
  if (hasTrustBundle(result) && (old === undefined || !hasTrustBundle(old))) result = withoutTrustBundles(result);
  return result;
}

function withoutStopSignals(spec: PodSpec): PodSpec {
  const { initContainers, ephemeralContainers } = spec;
  return {
    ...spec,
    containers: spec.containers.map(withoutStopSignal),
    ...(initContainers !== undefined && { initContainers: initContainers.map(withoutStopSignal) }),
    ...(ephemeralContainers !== undefined && { ephemeralContainers: ephemeralContainers.map(withoutStopSignal) }),
  };
}

function withoutStopSignal<T extends Hooked>(container: T): T {
  const { lifecycle, ...rest } = container;
  if (lifecycle?.stopSignal === undefined) return container;
  const { stopSignal: _, ...hooks } = lifecycle;
  return (Object.keys(hooks).length === 0 ? rest : { ...container, lifecycle: hooks }) as T;
}

function withoutTrustBundles(spec: PodSpec): PodSpec {
  const volumes = (spec.volumes ?? []).map((volume) => {
    const { projected } = volume;
    if (projected?.sources === undefined || projected.sources === null) return volume;
    const sources = projected.sources.map((source) => {
      const { clusterTrustBundle: _, ...rest } = source;
      return rest;
    });
    return { ...volume, projected: { ...projected, sources } };
  });
  return { ...spec, volumes };
}
